"""What is looked for in records as they come. Sizes found here are never too small: whether it is
external is decided by who takes the moments (noisetop.flight_recorder.judge)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from noisetop.events.decoder import RecordReader
from noisetop.events.layout import Events, Layout
from noisetop.events.source_names import Names
from noisetop.events.victim_book import SWITCH_NS
from noisetop.flight_recorder.closed_intervals import ClosedIntervals, noise_of
from noisetop.flight_recorder.window import Chunk
from noisetop.limits.grammar import path_matches
from noisetop.recording.moment import GAP, SINGLE, SOURCE, TOTAL, WAIT, Moment
from noisetop.summary.max_single import GAP_NS
from noisetop.tables.rows import joined, select

Threshold = Callable[[], int]
"""What a moment has to reach, in ns; may change."""
PERIOD_NS = 1_000_000_000
"""Of sums, as the period of rtla."""
_WAITS = ("preempted", "woken", "throttled")
_MOST_SOURCES = 4096
_CLOCK_NS = 1_000
"""By how much the clock of a probe may differ from that of the records."""


class Detector(Protocol):
    """Looks for moments of one kind."""

    def add(self, chunk: Chunk, intervals: ClosedIntervals) -> Iterator[Moment]:
        """Those of a chunk, and of the intervals that ended in it."""


@dataclass(slots=True)
class SingleDetector:
    """Long intervals: of each CPU one moment from the first to the last that is long enough. A long
    wait counts as well: nothing may account for it, and then no interruption tells of it."""

    layout: Layout
    threshold: Threshold
    per_entry_ns: int = 0
    """What each interruption may add to the size."""
    _waits: Events = field(init=False)
    """Of which the interruptions may not all be here."""

    def __post_init__(self) -> None:
        self._waits = np.empty(0, self.layout.event)

    def add(self, chunk: Chunk, intervals: ClosedIntervals) -> Iterator[Moment]:
        """See Detector."""
        threshold_ns = self.threshold()
        sizes = intervals["noise_ns"] + self.per_entry_ns * intervals["count"].astype(np.int64)
        waits = self._ended(chunk)
        cpus = np.concatenate([intervals["cpu"], waits["cpu"]])
        starts = np.concatenate([intervals["start_ns"], waits["start_ns"].astype(np.int64)])
        wait_ends = (waits["start_ns"] + waits["gross_ns"]).astype(np.int64)
        ends = np.concatenate([intervals["end_ns"], wait_ends])
        sizes = np.append(sizes, waits["gross_ns"].astype(np.int64))
        long = sizes >= threshold_ns
        for cpu in np.unique(cpus[long]).tolist():
            mine = long & (cpus == cpu)
            start_ns, end_ns = int(starts[mine].min()), int(ends[mine].max())
            yield Moment(SINGLE, cpu, start_ns, end_ns, int(sizes[mine].max()), threshold_ns)

    def _ended(self, chunk: Chunk) -> Events:
        """Waits that may be noise nobody tells of."""
        ended = (waits_of(some, self.layout) for some in chunk.records.waits)
        waits = joined([self._waits, *ended])
        waits = select(waits, waits["gross_ns"] > SWITCH_NS)
        complete = waits["start_ns"] + waits["gross_ns"] + GAP_NS <= chunk.until_ns
        self._waits = select(waits, ~complete).copy()
        return select(waits, complete)


@dataclass(slots=True)
class TotalDetector:
    """Periods in which the intervals of a CPU are too much together: of each CPU one moment from
    the first to the last. An interval belongs to the period in which it began."""

    threshold: Threshold
    start_ns: int
    """Of the trace: periods are counted from there."""
    least_ns: int = 0
    """Shorter intervals do not count."""
    period_ns: int = PERIOD_NS
    per_entry_ns: int = 0
    """What each interruption may add to the size."""
    _sums: dict[tuple[int, int], int] = field(default_factory=dict)
    """By number of the period and CPU."""

    def add(self, chunk: Chunk, intervals: ClosedIntervals) -> Iterator[Moment]:
        """See Detector."""
        counted = intervals[intervals["noise_ns"] >= self.least_ns]
        periods = (counted["start_ns"] - self.start_ns) // self.period_ns
        sizes = counted["noise_ns"] + self.per_entry_ns * counted["count"].astype(np.int64)
        for period, cpu, size_ns in zip(
            periods.tolist(), counted["cpu"].tolist(), sizes.tolist(), strict=True
        ):
            self._sums[period, cpu] = self._sums.get((period, cpu), 0) + size_ns
        current, threshold_ns = (chunk.until_ns - self.start_ns) // self.period_ns, self.threshold()
        over: dict[int, list[tuple[int, int]]] = {}
        for period, cpu in sorted(key for key in self._sums if key[0] < current):
            sum_ns = self._sums.pop((period, cpu))
            if sum_ns >= threshold_ns:
                over.setdefault(cpu, []).append((period, sum_ns))
        for cpu, found in over.items():
            start_ns = self.start_ns + found[0][0] * self.period_ns
            end_ns = self.start_ns + (found[-1][0] + 1) * self.period_ns - 1
            largest_ns = max(sum_ns for _, sum_ns in found)
            yield Moment(TOTAL, cpu, start_ns, end_ns, largest_ns, threshold_ns)


@dataclass(slots=True)
class WaitDetector:
    """The longest wait of a victim."""

    layout: Layout
    threshold: Threshold

    def add(self, chunk: Chunk, intervals: ClosedIntervals) -> Iterator[Moment]:
        """See Detector."""
        threshold_ns = self.threshold()
        ended = (waits_of(some, self.layout) for some in chunk.records.waits)
        waits = joined([np.empty(0, self.layout.event), *ended])
        long = select(waits, waits["gross_ns"] >= threshold_ns)
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
        for names in chunk.records.names:
            self._reader.task_names.add(names, self.layout.task_name)
        namer = self._reader.namer
        if len(namer.sources) > _MOST_SOURCES:
            namer.forget()
            self._matches.clear()
        noise = (select(some, noise_of(some, self.layout)) for some in chunk.records.events)
        table = namer.interruptions(joined([np.empty(0, self.layout.event), *noise]))
        for source in namer.sources[len(self._matches) :]:
            self._matches.append(path_matches(source.path, self.glob))
        found = select(table, np.array(self._matches, bool).take(table["source"]))
        if len(found):
            yield _moment(SOURCE, found[found["net_ns"].argmax()], 0, self.glob)


class SeenGap(NamedTuple):
    """What a thread saw that does nothing but spin."""

    cpu: int
    start_ns: int
    end_ns: int


@dataclass(slots=True)
class GapDetector:
    """Every gap that a probe has found, all of which are long enough."""

    found: Callable[[], Iterable[SeenGap]]
    threshold_ns: int

    def add(self, chunk: Chunk, intervals: ClosedIntervals) -> Iterator[Moment]:
        """See Detector."""
        for cpu, start_ns, end_ns in self.found():
            size_ns = end_ns - start_ns
            around = start_ns - _CLOCK_NS, end_ns + _CLOCK_NS
            yield Moment(GAP, cpu, *around, size_ns, self.threshold_ns)


def waits_of(waits: Events, layout: Layout) -> Events:
    """Those among waits and sleep in which the task could have run."""
    reasons = layout.wait_reasons
    told = np.isin(waits["level"], [reasons.index(reason) for reason in _WAITS])
    return select(waits, told)


def _moment(kind: str, row: np.void, threshold_ns: int, name: str = "") -> Moment:
    start_ns, gross_ns = int(row["start_ns"]), int(row["gross_ns"])
    size_ns = gross_ns if kind == WAIT else int(row["net_ns"])
    return Moment(kind, int(row["cpu"]), start_ns, start_ns + gross_ns, size_ns, threshold_ns, name)
