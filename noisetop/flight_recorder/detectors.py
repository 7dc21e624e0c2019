"""What is looked for in records as they come. Sizes found here are never too small: whether it is
external is decided by who takes the moments (noisetop.flight_recorder.judge)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from noisetop.events.decoder import RecordReader
from noisetop.events.layout import Events, Layout
from noisetop.events.source_names import Names
from noisetop.flight_recorder.closed_intervals import ClosedIntervals, noise_of
from noisetop.flight_recorder.window import Chunk
from noisetop.limits.grammar import path_matches
from noisetop.recording.moment import SINGLE, SOURCE, TOTAL, WAIT, Moment
from noisetop.tables.rows import select

Threshold = Callable[[], int]
"""What a moment has to reach, in ns; may change."""
PERIOD_NS = 1_000_000_000
"""Of sums, as the period of rtla."""
_WAITS = ("preempted", "woken", "throttled")
_MOST_SOURCES = 4096


class Detector(Protocol):
    """Looks for moments of one kind."""

    def add(self, chunk: Chunk, intervals: ClosedIntervals) -> Iterator[Moment]:
        """Those of a chunk, and of the intervals that ended in it."""


@dataclass(slots=True)
class SingleDetector:
    """Long intervals: of each CPU one moment from the first to the last that is long enough."""

    threshold: Threshold
    per_entry_ns: int = 0
    """What each interruption may add to the size."""

    def add(self, chunk: Chunk, intervals: ClosedIntervals) -> Iterator[Moment]:
        """See Detector."""
        threshold_ns = self.threshold()
        sizes = intervals["noise_ns"] + self.per_entry_ns * intervals["count"].astype(np.int64)
        long, sizes = intervals[sizes >= threshold_ns], sizes[sizes >= threshold_ns]
        for cpu in np.unique(long["cpu"]).tolist():
            mine, its_sizes = long[long["cpu"] == cpu], sizes[long["cpu"] == cpu]
            start_ns, end_ns = int(mine["start_ns"].min()), int(mine["end_ns"].max())
            yield Moment(SINGLE, cpu, start_ns, end_ns, int(its_sizes.max()), threshold_ns)


@dataclass(slots=True)
class TotalDetector:
    """Periods of a second in which the intervals of a CPU are too much together."""

    threshold: Threshold
    start_ns: int
    """Of the trace: periods are counted from there."""
    least_ns: int = 0
    """Shorter intervals do not count."""
    _sums: dict[tuple[int, int], int] = field(default_factory=dict)
    """By number of the period and CPU."""

    def add(self, chunk: Chunk, intervals: ClosedIntervals) -> Iterator[Moment]:
        """See Detector."""
        counted = intervals[intervals["noise_ns"] >= self.least_ns]
        periods = (counted["start_ns"] - self.start_ns) // PERIOD_NS
        for period, cpu, noise_ns in zip(
            periods.tolist(), counted["cpu"].tolist(), counted["noise_ns"].tolist(), strict=True
        ):
            self._sums[period, cpu] = self._sums.get((period, cpu), 0) + noise_ns
        current, threshold_ns = (chunk.until_ns - self.start_ns) // PERIOD_NS, self.threshold()
        for period, cpu in sorted(key for key in self._sums if key[0] < current):
            sum_ns = self._sums.pop((period, cpu))
            if sum_ns >= threshold_ns:
                start_ns = self.start_ns + period * PERIOD_NS
                end_ns = start_ns + PERIOD_NS - 1
                yield Moment(TOTAL, cpu, start_ns, end_ns, sum_ns, threshold_ns)


@dataclass(slots=True)
class WaitDetector:
    """The longest wait of a victim."""

    layout: Layout
    threshold: Threshold

    def add(self, chunk: Chunk, intervals: ClosedIntervals) -> Iterator[Moment]:
        """See Detector."""
        threshold_ns = self.threshold()
        flags, reasons = self.layout.flags, self.layout.wait_reasons
        events = chunk.events
        waits = select(events, events["flags"] & np.uint8(flags["WAIT"]) != 0)
        told = np.isin(waits["level"], [reasons.index(reason) for reason in _WAITS])
        long = select(waits, told & (waits["gross_ns"] >= threshold_ns))
        if len(long):
            yield _moment(WAIT, long[long["gross_ns"].argmax()], threshold_ns)


@dataclass(slots=True)
class SourceDetector:
    """The longest event of a source whose path is as described."""

    layout: Layout
    names: Names
    own_pid: int
    glob: str
    _reader: RecordReader = field(init=False)
    _matches: list[bool] = field(default_factory=list)
    """By source."""

    def __post_init__(self) -> None:
        self._reader = RecordReader(self.layout, self.names, own_pid=self.own_pid)

    def add(self, chunk: Chunk, intervals: ClosedIntervals) -> Iterator[Moment]:
        """See Detector."""
        self._reader.task_names.add(self._named(chunk.events), self.layout.task_name)
        namer = self._reader.namer
        if len(namer.sources) > _MOST_SOURCES:
            namer.forget()
            self._matches.clear()
        table = namer.interruptions(select(chunk.events, noise_of(chunk.events, self.layout)))
        for source in namer.sources[len(self._matches) :]:
            self._matches.append(path_matches(source.path, self.glob))
        found = select(table, np.array(self._matches, bool).take(table["source"]))
        if len(found):
            yield _moment(SOURCE, found[found["net_ns"].argmax()], 0, self.glob)

    def _named(self, events: Events) -> Events:
        return select(events, events["flags"] & np.uint8(self.layout.flags["NAME"]) != 0)


def _moment(kind: str, row: np.void, threshold_ns: int, name: str = "") -> Moment:
    start_ns, gross_ns = int(row["start_ns"]), int(row["gross_ns"])
    size_ns = gross_ns if kind == WAIT else int(row["net_ns"])
    return Moment(kind, int(row["cpu"]), start_ns, start_ns + gross_ns, size_ns, threshold_ns, name)
