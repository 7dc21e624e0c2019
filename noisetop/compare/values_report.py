"""A comparison of single measurements as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

import numpy as np

from noisetop.compare.stability import complaints, verdict_lines
from noisetop.compare.values import NS, Measured, ValueComparison, ValueRow, Values
from noisetop.text.layout import ANY_WIDTH, fold_empty_rows, table_lines
from noisetop.text.sanitize import printable
from noisetop.text.styled import heading
from noisetop.text.units import format_ns

_BINS = 10
_BAR_WIDTH = 28
_NARROWEST_BAR = 8
_BESIDE_BARS = 38
"""Cells of a row of the histogram that are no bar."""
_FIGURES = ("mean A", "mean B", "B/A", "change, 95 % interval")


def value_lines(comparison: ValueComparison, width: int = ANY_WIDTH) -> Iterator[str]:
    """The comparison, line by line.

    Where a table is wider than ``width`` cells, what was measured stands above its figures.
    """
    yield printable(f"A: {comparison.a.name}, probe {comparison.a.kind}")
    yield printable(f"B: {comparison.b.name}, probe {comparison.b.kind}")
    yield ""
    yield from _table(comparison.rows, width)
    for label in comparison.only_one:
        yield printable(f"in one of them only: {label}")
    yield ""
    yield from _answer(comparison)
    for row in comparison.rows:
        yield from map(printable, _spread(row, width))
    yield ""
    for measured in (comparison.a, comparison.b):
        yield from map(printable, _stability(measured))


def _shown(value: float, unit: str) -> str:
    """Not rounded to whole ns: an access to memory takes some."""
    if unit != NS or abs(value) < 1_000:
        return f"{value:.2f} {unit}"
    return f"{'-' if value < 0 else ''}{format_ns(abs(value))}"


def _table(rows: Sequence[ValueRow], width: int) -> list[str]:
    names = [printable(row.label) for row in rows]
    verdicts = list(map(_verdict, rows))
    cells = list(map(_figures, rows))
    lines = table_lines(
        [("change", *_FIGURES, "measured")]
        + [(v, *c, name) for v, c, name in zip(verdicts, cells, names, strict=True)],
        left=(0, 4, 5),
    )
    if max(map(len, lines)) <= width:
        return lines
    header, *figures = table_lines([_FIGURES, *cells], left=(3,))
    lines = ["measured", f"  {header}"]
    for verdict, name, line in zip(verdicts, names, figures, strict=True):
        lines += [f"{verdict}: {name}" if verdict else name, f"  {line}"]
    return lines


def _verdict(row: ValueRow) -> str:
    if row.changed:
        return "MORE" if row.mean.b > row.mean.a else "LESS"
    return "" if row.tested else "too few"


def _figures(row: ValueRow) -> tuple[str, ...]:
    one, unit = row.mean, row.a.unit
    return (
        _shown(one.a, unit),
        _shown(one.b, unit),
        f"{one.ratio or 0:.3f}",
        f"{_shown(one.low, unit)} .. {_shown(one.high, unit)}",
    )


def _answer(comparison: ValueComparison) -> Iterator[str]:
    level = f"family-wise error rate {100 * comparison.alpha:g} %"
    changed = [row for row in comparison.rows if row.changed]
    if not changed:
        yield f"No significant change ({level})."
        return
    yield heading(f"Significant changes ({level}):")
    for row in changed:
        yield printable(f"  {row.label}: p = {row.mean.p:.2g}")


def _spread(row: ValueRow, width: int) -> Iterator[str]:
    pairs = {
        "sd": (row.a.deviation, row.b.deviation),
        "median": (float(np.median(row.a.values)), float(np.median(row.b.values))),
        "max": (float(row.a.values.max()), float(row.b.values.max())),
    }
    figures = [
        f"{name} {_shown(a, row.a.unit)} → {_shown(b, row.a.unit)}{f' ({b / a:.2f}x)' if a else ''}"
        for name, (a, b) in pairs.items()
    ]
    yield ""
    yield row.label
    line = "  " + "  ".join(figures)
    yield from [line] if len(line) <= width else [f"  {one}" for one in figures]
    yield from _histograms(row, width)


def _histograms(row: ValueRow, width: int) -> Iterator[str]:
    """Both sides on the same bins."""
    edges = _edges(row)
    sides = [np.histogram(side.values, edges)[0].tolist() for side in (row.a, row.b)]
    most = max(map(max, sides))
    room = min(_BAR_WIDTH, max((width - _BESIDE_BARS) // 2, _NARROWEST_BAR))
    rows = []
    for start, *counts in zip(edges.tolist(), *sides, strict=False):
        bars = [f"{n:>6} {'█' * -(-n * room // most):<{room}}" for n in counts]
        line = f"  from {_shown(start, row.a.unit):>12}  {'  '.join(bars)}".rstrip()
        rows.append((not any(counts), line))
    yield from fold_empty_rows(rows, "  ")


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
