"""A comparison of single measurements as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

import numpy as np

from noisetop.compare.stability import complaints, verdict_lines
from noisetop.compare.values import NS, Measured, ValueComparison, ValueRow, Values
from noisetop.sanitize import printable
from noisetop.units import format_ns

_BINS = 10
_BAR_WIDTH = 28


def value_lines(comparison: ValueComparison) -> Iterator[str]:
    """The comparison, line by line."""
    yield printable(f"A: {comparison.a.name}, probe {comparison.a.kind}")
    yield printable(f"B: {comparison.b.name}, probe {comparison.b.kind}")
    yield ""
    yield f"{'':10}{'mean A':>12}{'mean B':>12}{'B/A':>8}  change, 95 % interval"
    for row in comparison.rows:
        yield printable(_row_line(row))
    for label in comparison.only_one:
        yield printable(f"{'':10}only one of them measured {label}")
    yield ""
    yield _answer(comparison)
    for row in comparison.rows:
        yield from map(printable, _spread(row))
    yield ""
    for measured in (comparison.a, comparison.b):
        yield from map(printable, _stability(measured))


def _shown(value: float, unit: str) -> str:
    """Not rounded to whole ns: an access to memory takes some."""
    if unit != NS or abs(value) < 1_000:
        return f"{value:.2f} {unit}"
    return f"{'-' if value < 0 else ''}{format_ns(abs(value))}"


def _row_line(row: ValueRow) -> str:
    one, unit = row.mean, row.a.unit
    verdict = "" if row.tested else "too few"
    if row.changed:
        verdict = "MORE" if one.b > one.a else "LESS"
    low, high = _shown(one.low, unit), _shown(one.high, unit)
    return (
        f"{verdict:10}{_shown(one.a, unit):>12}{_shown(one.b, unit):>12}{one.ratio or 0:>8.3f}  "
        f"{f'{low} .. {high}':<28}{row.label}"
    )


def _answer(comparison: ValueComparison) -> str:
    level = f"chance of even one false finding: {100 * comparison.alpha:g} %"
    changed = [row for row in comparison.rows if row.changed]
    if not changed:
        return f"No significant change ({level})."
    told = ", ".join(f"{row.label} (p = {row.mean.p:.2g})" for row in changed)
    return printable(f"Significant ({level}): {told}")


def _spread(row: ValueRow) -> Iterator[str]:
    pairs = {
        "sd": (row.a.deviation, row.b.deviation),
        "median": (float(np.median(row.a.values)), float(np.median(row.b.values))),
        "max": (float(row.a.values.max()), float(row.b.values.max())),
    }
    yield ""
    yield row.label
    yield "  " + "  ".join(
        f"{name} {_shown(a, row.a.unit)} → {_shown(b, row.a.unit)}{f' ({b / a:.2f}x)' if a else ''}"
        for name, (a, b) in pairs.items()
    )
    yield from _histograms(row)


def _histograms(row: ValueRow) -> Iterator[str]:
    """Both sides on the same bins."""
    edges = _edges(row)
    sides = [np.histogram(side.values, edges)[0].tolist() for side in (row.a, row.b)]
    most = max(map(max, sides))
    for start, *counts in zip(edges.tolist(), *sides, strict=False):
        bars = [f"{n:>6} {'█' * -(-n * _BAR_WIDTH // most):<{_BAR_WIDTH}}" for n in counts]
        yield f"  from {_shown(start, row.a.unit):>12}  {'  '.join(bars)}".rstrip()


def _edges(row: ValueRow) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    both = np.concatenate([row.a.values, row.b.values])
    low, high = float(both.min()), float(both.max())
    if low == high:
        return np.array([low, high])
    # Times reach over decades.
    spaced = np.geomspace if low > 0 and high > 10 * low else np.linspace
    edges: np.ndarray[tuple[int], np.dtype[np.float64]] = spaced(low, high, _BINS + 1)
    edges[0], edges[-1] = low, high
    return edges


def _stability(measured: Measured) -> Iterator[str]:
    found = []
    for label, one in measured.by_label.items():
        found += [f"{label}: {text}" for text in _complaints(one)]
    yield from verdict_lines(measured.name, "The measurement", found)


def _complaints(one: Values) -> Iterator[str]:
    if len(one.values) > 1:
        mean = float(one.values.mean())
        shown = _shown(mean, one.unit)
        yield from complaints(one.values, lambda v: _shown(v, one.unit), f"the mean ({shown})")


def values_as_dict(comparison: ValueComparison) -> dict[str, object]:
    """For JSON."""
    return {
        "alpha": comparison.alpha,
        "changed": [row.label for row in comparison.rows if row.changed],
        "measured": [_row_dict(row) for row in comparison.rows],
        "only_one": list(comparison.only_one),
        "stability": {
            side: list(_stability(one)) for side, one in (("a", comparison.a), ("b", comparison.b))
        },
    }


def _row_dict(row: ValueRow) -> dict[str, object]:
    edges = _edges(row)
    return {
        "label": row.label,
        "unit": row.a.unit,
        "changed": row.changed,
        "tested": row.tested,
        "mean": asdict(row.mean),
        "histogram": {
            "edges": edges.tolist(),
            "a": np.histogram(row.a.values, edges)[0].tolist(),
            "b": np.histogram(row.b.values, edges)[0].tolist(),
        },
    }
