"""A comparison as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

import numpy as np

from noisetop.compare.comparison import Comparison, Figure, Row
from noisetop.compare.sample import Durations, Sample
from noisetop.compare.stability import stability_lines
from noisetop.histogram import edges_ns
from noisetop.sanitize import printable
from noisetop.units import format_count, format_ns

_BAR_WIDTH = 28
_OCTAVE = 16


def comparison_lines(comparison: Comparison, top: int) -> Iterator[str]:
    """The comparison, line by line; at most ``top`` sources without a significant change."""
    yield printable(f"A: {_about(comparison.a)}")
    yield printable(f"B: {_about(comparison.b)}")
    yield ""
    yield (
        f"{'':12}{'time/s A':>10}{'time/s B':>10}{'B/A':>8}  {'change, 95 % interval':<24}"
        f"{'rate/s A':>9}{'rate/s B':>9}{'B/A':>8}  source"
    )
    yield _row_line(comparison.total)
    for row in comparison.changed:
        yield _row_line(row)
    unchanged = [row for row in comparison.rows if not row.changed]
    for row in unchanged[:top]:
        yield _row_line(row)
    if len(unchanged) > top:
        yield f"{'':12}{len(unchanged) - top} more sources without a significant change"
    yield ""
    yield from _answer(comparison)
    yield from _spreads(comparison)
    yield from _histograms(comparison)
    yield ""
    for sample in (comparison.a, comparison.b):
        yield from map(printable, stability_lines(sample))


def _about(sample: Sample) -> str:
    seconds = format_ns(sample.block_ns * len(sample.total_ns))
    noun = "CPU" if sample.cpus == 1 else "CPUs"
    return ", ".join((sample.name, f"{seconds} on {sample.cpus} {noun}", *sample.caveats))


def _ratio(figure: Figure) -> str:
    return "new" if figure.ratio is None and figure.b else f"{figure.ratio or 0:.3f}"


def _verdict(row: Row) -> str:
    if row.changed:
        told = ((row.time, "time"), (row.rate, "often"), (row.length, "each"))
        figure, what = next((figure, what) for figure, what in told if figure.significant)
        return f"{'MORE' if figure.b > figure.a else 'LESS'} {what}"
    return "" if row.tested else "too rare"


def _signed(ns: float) -> str:
    return f"{'-' if ns < 0 else '+'}{format_ns(abs(ns))}"


def _row_line(row: Row) -> str:
    interval = f"{_signed(row.time.low)} .. {_signed(row.time.high)}"
    return printable(
        f"{_verdict(row):12}{format_ns(row.time.a):>10}{format_ns(row.time.b):>10}"
        f"{_ratio(row.time):>8}  {interval:<24}{format_count(row.rate.a):>9}"
        f"{format_count(row.rate.b):>9}{_ratio(row.rate):>8}  {row.label}"
    )


def _answer(comparison: Comparison) -> Iterator[str]:
    level = f"chance of even one false finding: {100 * comparison.alpha:g} %"
    rows = [row for row in (comparison.total, *comparison.rows) if row.changed]
    if not rows:
        yield f"No significant change ({level})."
        return
    yield f"Significant ({level}):"
    for row in rows:
        told = []
        if row.time.significant:
            told.append(f"time p = {row.time.p:.2g}")
        if row.rate.significant:
            told.append(f"rate p = {row.rate.p:.2g}")
        if row.length.significant:
            mean = f"{format_ns(row.length.a)} → {format_ns(row.length.b)}"
            told.append(f"mean length {mean}, p = {row.length.p:.2g}")
        yield printable(f"  {row.label}: {', '.join(told)}")


def _spreads(comparison: Comparison) -> Iterator[str]:
    rows = [
        row
        for row in (comparison.total, *(comparison.changed or comparison.rows[:5]))
        if row.spread
    ]
    if not rows:
        return
    yield ""
    yield "Of single interruptions, A → B"
    for row in rows:
        assert row.spread
        pairs = {
            "sd": row.spread.deviation_ns,
            "median": row.spread.median_ns,
            "max": row.spread.max_ns,
        }
        told = "  ".join(
            f"{name} {format_ns(a)} → {format_ns(b)}{f' ({b / a:.2f}x)' if a else ''}"
            for name, (a, b) in pairs.items()
        )
        yield printable(f"  {told}  {row.label}")


def _histograms(comparison: Comparison) -> Iterator[str]:
    one, other = (_octaves(s.all_durations) for s in (comparison.a, comparison.b))
    filled = np.flatnonzero(one + other)
    if not len(filled):
        return
    edges = edges_ns()
    most = max(int(one.max()), int(other.max()))
    yield ""
    yield f"Single interruptions{'':4}{'A':<{_BAR_WIDTH + 9}}B"
    for octave in range(int(filled[0]), int(filled[-1]) + 1):
        bars = [
            f"{format_count(int(counts[octave])):>7} "
            f"{'█' * -(-int(counts[octave]) * _BAR_WIDTH // most):<{_BAR_WIDTH}}"
            for counts in (one, other)
        ]
        yield f"  from {format_ns(int(edges[octave * _OCTAVE])):>8}  {'  '.join(bars)}".rstrip()


def _octaves(durations: Durations) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    size = -(-len(durations.histogram) // _OCTAVE) * _OCTAVE
    padded = np.zeros(size, np.int64)
    padded[: len(durations.histogram)] = durations.histogram
    octaves: np.ndarray[tuple[int], np.dtype[np.int64]] = padded.reshape(-1, _OCTAVE).sum(axis=1)
    return octaves


def comparison_as_dict(comparison: Comparison) -> dict[str, object]:
    """For JSON; times are ns per second and CPU."""
    return {
        "alpha": comparison.alpha,
        "changed": [row.label for row in (comparison.total, *comparison.rows) if row.changed],
        "total": _row_dict(comparison.total),
        "sources": [_row_dict(row) for row in comparison.rows],
        "histograms": {
            name: {str(i): int(n) for i, n in enumerate(sample.all_durations.histogram) if n}
            for name, sample in (("a", comparison.a), ("b", comparison.b))
        },
        "lost": {"a": comparison.a.lost, "b": comparison.b.lost},
        "caveats": {"a": list(comparison.a.caveats), "b": list(comparison.b.caveats)},
        "stability": {
            name: list(stability_lines(sample))
            for name, sample in (("a", comparison.a), ("b", comparison.b))
        },
    }


def _row_dict(row: Row) -> dict[str, object]:
    return {
        "source": row.label,
        "changed": row.changed,
        "tested": row.tested,
        "time_ns_per_s": asdict(row.time),
        "rate_per_s": asdict(row.rate),
        "length_ns": asdict(row.length),
        "single": asdict(row.spread) if row.spread else None,
    }
