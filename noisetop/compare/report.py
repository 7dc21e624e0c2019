"""A comparison as text and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict

import numpy as np

from noisetop.compare.comparison import Comparison, Figure, Row, Spread
from noisetop.compare.sample import Durations, Sample
from noisetop.compare.stability import stability_lines
from noisetop.tables.histogram import edges_ns
from noisetop.text.layout import ANY_WIDTH, fold_empty_rows, table_lines
from noisetop.text.sanitize import printable
from noisetop.text.styled import heading
from noisetop.text.units import format_count, format_ns

_BAR_WIDTH = 28
_NARROWEST_BAR = 8
_BESIDE_BARS = 35
"""Cells of a row of the histogram that are no bar."""
_LARGE_RATIO = 100
_OCTAVE = 16
_VERDICT, _SOURCE = "change", "source"
_FIGURES = (
    "time/s A",
    "time/s B",
    "B/A",
    "change, 95 % interval",
    "rate/s A",
    "rate/s B",
    "B/A",
)


def comparison_lines(comparison: Comparison, top: int, width: int = ANY_WIDTH) -> Iterator[str]:
    """The comparison, line by line; at most ``top`` sources without a significant change.

    Where a table is wider than ``width`` cells, each source stands on a line above its figures.
    """
    for name, sample in (("A", comparison.a), ("B", comparison.b)):
        about = printable(f"{name}: {_about(sample)}")
        yield from textwrap.wrap(about, width, subsequent_indent="   ")
    yield ""
    unchanged = [row for row in comparison.rows if not row.changed]
    yield from _table([comparison.total, *comparison.changed, *unchanged[:top]], width)
    if len(unchanged) > top:
        yield f"and {len(unchanged) - top} more sources without a significant change"
    yield ""
    yield from _answer(comparison, width)
    yield from _spreads(comparison, width)
    yield from _histograms(comparison, width)
    yield ""
    for sample in (comparison.a, comparison.b):
        yield from map(printable, stability_lines(sample))


def _about(sample: Sample) -> str:
    seconds = format_ns(sample.block_ns * sample.blocks)
    noun = "CPU" if sample.cpus == 1 else "CPUs"
    about = [sample.name, f"{seconds} on {sample.cpus} {noun}"]
    if len(sample.total_ns) < sample.blocks:
        block = format_ns(sample.block_ns)
        about.append(f"tested on {len(sample.total_ns)} of {sample.blocks} blocks of {block}")
    return ", ".join((*about, *sample.caveats))


def _ratio(figure: Figure) -> str:
    ratio = figure.ratio
    if ratio is None:
        return "new" if figure.b else ratio_text(0)
    return ratio_text(ratio)


def ratio_text(ratio: float) -> str:
    """B / A."""
    return f"{ratio:.3f}" if ratio < _LARGE_RATIO else format_count(ratio)


def verdict_of(row: Row) -> str:
    """What changed significantly: ``MORE time``; empty: nothing did."""
    if row.changed:
        figures = ((row.time, "time"), (row.rate, "rate"), (row.length, "length"))
        figure, what = next((figure, what) for figure, what in figures if figure.significant)
        return f"{'MORE' if figure.b > figure.a else 'LESS'} {what}"
    return "" if row.tested else "too rare"


def _signed(ns: float) -> str:
    return f"{'-' if ns < 0 else '+'}{format_ns(abs(ns))}"


def interval_text(figure: Figure) -> str:
    """The interval of a change in ns."""
    return f"{_signed(figure.low)} .. {_signed(figure.high)}"


def _table(rows: Sequence[Row], width: int) -> list[str]:
    lines = table_lines(
        [(_VERDICT, *_FIGURES, _SOURCE), *((verdict_of(r), *_figures(r), _name(r)) for r in rows)],
        left=(0, 4, 8),
    )
    if max(map(len, lines)) <= width:
        return lines
    header, *figures = table_lines([_FIGURES, *map(_figures, rows)], left=(3,))
    lines = [_SOURCE, f"  {header}"]
    for row, line in zip(rows, figures, strict=True):
        verdict = verdict_of(row)
        lines += [f"{verdict}: {_name(row)}" if verdict else _name(row), f"  {line}"]
    return lines


def _name(row: Row) -> str:
    return printable(row.label)


def _figures(row: Row) -> tuple[str, ...]:
    return (
        format_ns(row.time.a),
        format_ns(row.time.b),
        _ratio(row.time),
        interval_text(row.time),
        format_count(row.rate.a),
        format_count(row.rate.b),
        _ratio(row.rate),
    )


def _answer(comparison: Comparison, width: int) -> Iterator[str]:
    level = f"family-wise error rate {100 * comparison.alpha:g} %"
    rows = [row for row in (comparison.total, *comparison.rows) if row.changed]
    if not rows:
        yield f"No significant change ({level})."
        return
    yield heading(f"Significant changes ({level}):")
    for row in rows:
        parts = []
        if row.time.significant:
            parts.append(f"time p = {row.time.p:.2g}")
        if row.rate.significant:
            parts.append(f"rate p = {row.rate.p:.2g}")
        if row.length.significant:
            mean = f"{format_ns(row.length.a)} → {format_ns(row.length.b)}"
            parts.append(f"mean length {mean}, p = {row.length.p:.2g}")
        words = printable(f"{row.label}: {', '.join(parts)}")
        yield from textwrap.wrap(words, width, initial_indent="  ", subsequent_indent="      ")


def _spreads(comparison: Comparison, width: int) -> Iterator[str]:
    rows = [
        (row, row.spread)
        for row in (comparison.total, *(comparison.changed or comparison.rows[:5]))
        if row.spread
    ]
    if not rows:
        return
    yield ""
    yield heading("Single interruptions, A → B")
    figures = [_spread(spread) for _, spread in rows]
    lines = table_lines(
        [("  sd", "median", "max", _SOURCE)]
        + [(f"  {f[0]}", *f[1:], _name(row)) for f, (row, _) in zip(figures, rows, strict=True)],
        left=(0, 1, 2, 3),
    )
    if max(map(len, lines)) <= width:
        yield from lines
        return
    for (row, _), (deviation, median, most) in zip(rows, figures, strict=True):
        yield f"  {_name(row)}"
        parts = [f"sd {deviation}", f"median {median}", f"max {most}"]
        line = f"    {'  '.join(parts)}"
        yield from [line] if len(line) <= width else [f"    {part}" for part in parts]


def _spread(spread: Spread) -> tuple[str, str, str]:
    deviation, median, most = (
        f"{format_ns(a)} → {format_ns(b)}{f' ({b / a:.2f}x)' if a else ''}"
        for a, b in (spread.deviation_ns, spread.median_ns, spread.max_ns)
    )
    return deviation, median, most


def _histograms(comparison: Comparison, width: int) -> Iterator[str]:
    one, other = (_octaves(s.all_durations) for s in (comparison.a, comparison.b))
    filled = np.flatnonzero(one + other)
    if not len(filled):
        return
    edges = edges_ns()
    most = max(int(one.max()), int(other.max()))
    room = min(_BAR_WIDTH, max((width - _BESIDE_BARS) // 2, _NARROWEST_BAR))
    yield ""
    yield heading(f"Single interruptions{'':4}{'A':<{room + 10}}B")
    rows = []
    for octave in range(int(filled[0]), int(filled[-1]) + 1):
        counts = int(one[octave]), int(other[octave])
        bars = [f"{format_count(n):>7} {'█' * -(-n * room // most):<{room}}" for n in counts]
        line = f"  from {format_ns(int(edges[octave * _OCTAVE])):>8}  {'  '.join(bars)}".rstrip()
        rows.append((not any(counts), line))
    yield from fold_empty_rows(rows, "  ")


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
