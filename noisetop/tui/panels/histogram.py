"""Net times of one source, by powers of two, beside those of all external noise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import log10

import numpy as np

from noisetop.columns.noise import SourceRow
from noisetop.summary.summary import CpuSummary
from noisetop.tables.histogram import by_octave
from noisetop.text.column import percent, show_count
from noisetop.text.units import format_ns
from noisetop.tui.drill_path import ARROW, path_words
from noisetop.tui.keys import Key
from noisetop.tui.panels.triggers import same_source
from noisetop.tui.state import State
from noisetop.tui.text_panel import TextPanel

_FIGURES = 10 + 2 * 16 + 4
_MARKS_ROOM = 16
_LEAST_BAR = 10
_SOURCE, _REST = "█", "░"
_PERCENTILES = (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999))


@dataclass(frozen=True, slots=True)
class Taken:
    """What it is drawn from; no CPU: there are no figures yet."""

    row: SourceRow
    cpu: CpuSummary | None = None


@dataclass(frozen=True, slots=True)
class OctaveRow:
    """Net times from ``least_ns`` up to twice that; the first one from 0 on."""

    least_ns: int
    count: int
    """Of the source."""
    of_all: int
    """Of all external noise, the source with it."""
    marks: str
    """Percentiles and the maximum of the source that lie in it."""


class Histogram(TextPanel[Taken], can_focus=True):
    """Lengths of bars are logarithms of counts: one interruption among a million has a bar."""

    TITLE = "Histogram"
    ORDER = 27
    KEYS = (Key("H", "on a source: histogram of its net times, beside all noise", "H"),)
    OPENED_ON = SourceRow
    BY_ENTER = False
    WIDTH = 120

    def on_mount(self) -> None:
        """Part of Textual."""
        self.step = self.opened_on.label
        self.focus()

    def take(self, state: State) -> Taken:
        """The row that it was opened on, with the newest figures, and those of its CPU."""
        row: SourceRow = self.opened_on
        if state.period is None:
            return Taken(row)
        self.opened_on = row = same_source(state.period, row) or row
        cpus = state.period.everywhere, *state.period.summary.cpus
        return Taken(row, next((one for one in cpus if one.cpu == row.cpu), None))

    def lines(self, taken: Taken) -> Iterable[str]:
        """Part of TextPanel."""
        self.heading = f"{path_words(self.dashboard)}{ARROW}histogram"
        rows = octave_rows(taken.row, taken.cpu) if taken.cpu else []
        if not rows:
            return ["no interruptions"]
        width = min(self.app.size.width, self.WIDTH) - 4
        return _page(taken.row, rows, width)


def octave_rows(row: SourceRow, cpu: CpuSummary) -> list[OctaveRow]:
    """From the smallest to the largest octave that the source or the noise of its CPU has."""
    mine = by_octave(row.source.histogram)
    external = [one.histogram for one in cpu.external]
    every = by_octave(np.add.reduce(external)) if external else np.zeros_like(mine)
    if not row.source.is_external:
        every = every + mine
    present = np.flatnonzero(every)
    if not len(present):
        return []
    return [
        OctaveRow(
            1 << octave if octave else 0,
            int(mine[octave]),
            int(every[octave]),
            " ".join(_marks(row, octave)),
        )
        for octave in range(int(present[0]), int(present[-1]) + 1)
    ]


def _marks(row: SourceRow, octave: int) -> Iterator[str]:
    source = row.source
    named = [(name, source.percentile_ns(share)) for name, share in _PERCENTILES]
    for name, ns in (*named, ("max", source.max_ns)):
        if source.count and max(ns.bit_length() - 1, 0) == octave:
            yield name


def _page(row: SourceRow, rows: Sequence[OctaveRow], width: int) -> Iterator[str]:
    count, of_all = sum(one.count for one in rows), sum(one.of_all for one in rows)
    room = max(width - _FIGURES - _MARKS_ROOM, _LEAST_BAR)
    largest = max(one.of_all for one in rows)
    yield f"{'net time':>10}  {'this source':>15}  {'all noise':>15}"
    for one in rows:
        least = f"≥{format_ns(one.least_ns)}" if one.least_ns else "<2 ns"
        figures = f"{least:>10}  {_share(one.count, count)}  {_share(one.of_all, of_all)}"
        yield f"{figures}  {bar(one.count, one.of_all, largest, room)}  {one.marks}".rstrip()
    named = [f"{name} {format_ns(row.source.percentile_ns(part))}" for name, part in _PERCENTILES]
    yield ""
    yield f"{_SOURCE} this source  {_REST} other noise  lengths are logarithms of counts"
    named = [f"{show_count(count)} interruptions", *named, f"max {format_ns(row.source.max_ns)}"]
    yield "  ".join(named)


def _share(count: int, whole: int) -> str:
    return f"{show_count(count):>7} {percent(count, whole):6.2f}%" if count else f"{'·':>7} {'':7}"


def bar(count: int, of_all: int, largest: int, width: int) -> str:
    """The source in the bar of all, exactly ``width`` cells; any count has one."""
    mine, every = _length(count, largest, width), _length(of_all, largest, width)
    return (_SOURCE * mine + _REST * (every - mine)).ljust(width)


def _length(count: int, largest: int, width: int) -> int:
    if not count:
        return 0
    return max(1, round(log10(1 + count) / log10(1 + largest) * width))


PANELS = (Histogram,)
