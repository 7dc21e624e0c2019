"""Pure aggregation of interruptions: per CPU and source, exact to the nanosecond.

The live view and the report of a recording use the same Summarizer, so they cannot differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from noisetop._tables import Groups, add_up
from noisetop.counters.calibration import CALIBRATION, Calibration
from noisetop.counters.period import PeriodCounters
from noisetop.counters.section import event_classes
from noisetop.events.interruption import OTHER, OTHER_TID, SIDE_LEVEL, Flag, Interruptions, Source
from noisetop.events.origin import Origin
from noisetop.events.task_directory import TaskDirectory
from noisetop.events.trigger import Trigger
from noisetop.events.victim_time import VictimTime
from noisetop.events.waits import TaskWait
from noisetop.summary.cost import (
    Costs,
    Entries,
    entry_kind,
    fitting,
)
from noisetop.summary.cpu_victim import CpuVictims, SetAside
from noisetop.summary.max_single import LongestIntervals
from noisetop.summary.short_lived import (
    ShortLived,
    StartedTasks,
    rows_by_task,
    with_short_lived,
)
from noisetop.summary.summary import (
    CpuSummary,
    SourceSummary,
    Summary,
    Victim,
    VictimWait,
    largest_sources_first,
    merge,
)
from noisetop.summary.trigger_totals import (
    TASKS,
    TriggerSummary,
    TriggerTotals,
)
from noisetop.tables.group_sums import COUNT, TOTAL, Sums, counted, no_sums, widened
from noisetop.tables.histogram import BUCKETS, Counts
from noisetop.tables.rows import select


def _longest_first(
    waits: Mapping[int, TaskWait], tasks: Mapping[int, str]
) -> tuple[VictimWait, ...]:
    found = [VictimWait(tid, _name(tid, tasks), wait) for tid, wait in waits.items()]
    return tuple(sorted(found, key=lambda one: (-one.wait.sum_ns, one.tid)))


def _victims(victims: Mapping[int, VictimTime], tasks: Mapping[int, str]) -> tuple[Victim, ...]:
    found = [Victim(_name(tid, tasks), time) for tid, time in victims.items()]
    return tuple(sorted(found, key=lambda one: (-one.lost_ns, -one.time.run_ns, one.time.tid)))


def _parted(one: SourceSummary, aside: SetAside) -> Sequence[SourceSummary]:
    """A source, or the two parts of it; tables of one name hold several tasks at times."""
    theirs = tuple(task for task in one.tasks if aside.includes(one.source, task.trigger))
    if not theirs:
        return (one,)
    if len(theirs) == len(one.tasks):
        return (replace(one, aside=aside.why),)
    rest = tuple(task for task in one.tasks if task not in theirs)
    count = sum(task.count for task in theirs)
    histogram = one.histogram * count // max(one.count, 1)
    parts = (theirs, histogram, aside.why), (rest, one.histogram - histogram, "")
    return tuple(_part(one, *part) for part in parts)


def _part(
    one: SourceSummary, tasks: tuple[TriggerSummary, ...], histogram: Counts, aside: str
) -> SourceSummary:
    """Of a source what some of its tasks did. Who woke which of them is not known."""
    count, net_ns = sum(task.count for task in tasks), sum(task.net_ns for task in tasks)
    worst = max(task.max_ns for task in tasks)
    return replace(
        one,
        count=count,
        net_ns=net_ns,
        max_ns=worst,
        max_start_ns=one.max_start_ns if worst == one.max_ns else 0,
        idle_count=0 if aside else one.idle_count,
        idle_ns=0 if aside else one.idle_ns,
        histogram=histogram,
        triggers=(TriggerSummary(Trigger(), count, net_ns, worst),),
        entries=sum(task.entries for task in tasks),
        cold=sum(task.cold for task in tasks),
        tasks=tasks,
        aside=aside,
    )


def _name(tid: int, tasks: Mapping[int, str]) -> str:
    return OTHER if tid == OTHER_TID else tasks.get(tid, "")


class Total(NamedTuple):
    """What was added of one source and origin on one CPU."""

    cpu: int
    is_side: bool
    """No interruption, so no noise."""
    summary: SourceSummary


class _Row(NamedTuple):
    """What a row of the figures is about."""

    cpu: int
    source: int
    """Number of it."""
    origin: Origin
    is_side: bool
    """No interruption, so no noise."""


class SortedOut(NamedTuple):
    """Interruptions as a summarizer takes them."""

    noise: Interruptions
    """Those of victims."""
    idle: Interruptions
    carries: npt.NDArray[np.bool_]
    """Of the noise: whether they carry the cost of an entry,"""
    cold: npt.NDArray[np.bool_]
    """and whether that of a cold one."""
    longest: Interruptions
    """Of the noise what makes the longest intervals."""

    @classmethod
    def of(cls, table: Interruptions) -> SortedOut:
        """A table."""
        is_noise = table["victim_tid"] != 0
        noise, idle = select(table, is_noise), select(table, ~is_noise)
        flags = noise["flags"]
        carries = Flag.ENTRY.among(flags) | (noise["level"] == SIDE_LEVEL)
        longest = Flag.OUTERMOST.among(flags) & (noise["origin"] != int(Origin.SELF))
        return cls(noise, idle, carries, Flag.COLD.among(flags), select(noise, longest))


def _room(cpu: int, is_side: bool) -> int:
    """What is beside the noise of a CPU has room of its own in its wall time."""
    return -1 - cpu if is_side else cpu


def _row_of(row: np.void) -> _Row:
    origin = Origin(int(row["origin"]))
    return _Row(int(row["cpu"]), int(row["source"]), origin, bool(row["level"] == SIDE_LEVEL))


@dataclass(slots=True)
class Summarizer:
    """Folds tables of interruptions, in any number of pieces, into a Summary.

    ``sources`` and ``triggers`` are the lists that the tables index; they may grow between calls.
    """

    cpus: tuple[int, ...]
    sources: Sequence[Source]
    triggers: Sequence[Trigger]
    directory: TaskDirectory = field(default_factory=TaskDirectory)
    """Who the tasks are; may grow between calls."""
    _rows: list[_Row] = field(default_factory=list)
    """Of the figures."""
    _groups: Groups = field(default_factory=lambda: Groups(3))
    _noise: Sums = field(default_factory=no_sums)
    _idle: Sums = field(default_factory=no_sums)
    _entries: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    _cold: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """Of the entries."""
    _histogram: npt.NDArray[np.int64] = field(
        default_factory=lambda: np.zeros((0, BUCKETS), np.int64)
    )
    intervals: LongestIntervals = field(default_factory=lambda: LongestIntervals(keep=1))
    """Finds the longest intervals; say how many to keep."""
    earlier: tuple[Total, ...] = ()
    """Totals to count on from, each source and origin of a CPU once."""
    started: StartedTasks = field(default_factory=StartedTasks)
    most_tasks: int = 1024
    """Of a source on one CPU that are told apart: those that come first."""
    _by_trigger: TriggerTotals = field(init=False)
    _by_task: TriggerTotals = field(init=False)
    _threads: npt.NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, bool))
    """By source: whether it is a thread."""

    def __post_init__(self) -> None:
        self._by_trigger = TriggerTotals(self.triggers)
        self._by_task = TriggerTotals(TASKS, self.most_tasks)

    def add(self, table: Interruptions) -> None:
        """Adds interruptions; those of one CPU about in the order in which they ended, see
        noisetop.summary.max_single.HOLD_NS."""
        self.add_sorted_out(SortedOut.of(table))

    def add_sorted_out(self, some: SortedOut) -> None:
        """The same, for who adds them to several."""
        noise, idle = some.noise, some.idle
        if len(idle):
            rows = self._rows_of(idle)
            add_up((rows, idle["net_ns"], idle["start_ns"]), self._idle, None)
        rows = self._rows_of(noise)
        add_up((rows, noise["net_ns"], noise["start_ns"]), self._noise, self._histogram)
        self._entries = counted(self._entries, rows[some.carries], len(self._rows))
        self._cold = counted(self._cold, rows[some.cold], len(self._rows))
        self._by_trigger.add(rows, noise["trigger"], noise["net_ns"], some.carries, some.cold)
        self._add_threads(noise, rows, some.carries, some.cold)
        self.intervals.add(some.longest)

    def _add_threads(
        self,
        table: Interruptions,
        rows: npt.NDArray[np.uint32],
        carries: npt.NDArray[np.bool_],
        cold: npt.NDArray[np.bool_],
    ) -> None:
        """Which tasks ran, where a source is a thread."""
        fresh = [one.noise_class == "thread" for one in self.sources[len(self._threads) :]]
        self._threads = np.append(self._threads, np.array(fresh, bool))
        ran = self._threads.take(table["source"]) & (table["tid"] != 0)
        threads = select(table, ran)
        self._by_task.add(rows[ran], threads["tid"], threads["net_ns"], carries[ran], cold[ran])
        self.started.add(threads, self.directory)

    def _rows_of(self, table: Interruptions) -> npt.NDArray[np.uint32]:
        """Row of each interruption; grows the arrays by the rows that are new."""
        rows = np.empty(len(table), np.uint32)
        columns = table["cpu"], table["source"], table["origin"]
        fresh = self._groups.numbers(columns, rows)
        if fresh:
            self._rows += [_row_of(table[first]) for first in fresh]
            self._noise = widened(self._noise, len(self._rows))
            self._idle = widened(self._idle, len(self._rows))
            more = np.zeros((len(fresh), BUCKETS), np.int64)
            self._histogram = np.concatenate([self._histogram, more])
        return rows

    def summary(
        self,
        start_ns: int,
        end_ns: int,
        counters: PeriodCounters | None = None,
        tasks: dict[int, str] | None = None,
        waits: Mapping[int, TaskWait] | None = None,
        victims: Mapping[int, VictimTime] | None = None,
        cpu_victims: CpuVictims | None = None,
    ) -> Summary:
        """What was added so far, as the summary of the period from ``start_ns`` to ``end_ns``."""
        whose = cpu_victims or {}
        by_cpu: dict[int, list[SourceSummary]] = {cpu: [] for cpu in self.cpus}
        side: dict[int, list[SourceSummary]] = {}
        moments: list[tuple[int, Source, int]] = []
        counters, tasks = counters or PeriodCounters(), tasks or {}
        short_lived = self.started.rows(self.directory, start_ns)
        totals = self.totals(counters.of(CALIBRATION), short_lived, end_ns - start_ns)
        for cpu, is_side, found in totals:
            if not is_side:
                by_cpu.setdefault(cpu, []).append(found)
            elif found.source.noise_class in event_classes():
                moments.append((cpu, found.source, found.count + found.idle_count))
            else:
                by_cpu.setdefault(cpu, [])
                side.setdefault(cpu, []).append(found)
        cpus = tuple(
            self._cpu(cpu, self._set_aside(cpu, sources, whose), side.get(cpu, ()))
            for cpu, sources in sorted(by_cpu.items())
        )
        return Summary(
            start_ns,
            end_ns,
            cpus,
            counters.with_events(moments),
            tasks,
            _longest_first(waits or {}, tasks),
            _victims(victims or {}, tasks),
            short_lived,
            self.directory,
            whose,
        )

    def _set_aside(
        self, cpu: int, sources: list[SourceSummary], whose: CpuVictims
    ) -> list[SourceSummary]:
        """The sources with those apart that are no noise to the victim of the CPU."""
        if cpu not in whose:
            return sources
        aside = SetAside.on(cpu, whose, self.directory)
        return [part for one in sources for part in _parted(one, aside)]

    def totals(
        self, calibration: Calibration, short_lived: Sequence[ShortLived] = (), wall_ns: int = 0
    ) -> list[Total]:
        """What was added so far, each source and origin of a CPU once. No CPU costs more than
        ``wall_ns``; 0: it is not known."""
        costs = self._entry_costs(calibration, wall_ns)
        found = self._by_row(costs[len(self.earlier) :], short_lived)
        own = [Total(*row, one) for row, one in zip(self._places(), found, strict=True)]
        if not self.earlier:
            return own
        earlier = [
            one._replace(summary=replace(one.summary, entry=cost))
            for one, cost in zip(self.earlier, costs, strict=False)
        ]
        same: dict[tuple[int, bool, Source, Origin], list[SourceSummary]] = {}
        for cpu, is_side, one in (*earlier, *own):
            same.setdefault((cpu, is_side, one.source, one.origin), []).append(one)
        return [
            Total(cpu, is_side, merge(parts) if len(parts) > 1 else parts[0])
            for (cpu, is_side, _, _), parts in same.items()
        ]

    def _places(self) -> list[tuple[int, bool]]:
        """By row: CPU, and whether it is beside the noise."""
        return [(row.cpu, row.is_side) for row in self._rows]

    def _entry_costs(self, calibration: Calibration, wall_ns: int) -> Costs:
        """Of the earlier totals, then by row."""
        noise = self._noise[:, TOTAL].tolist()
        earlier = [
            Entries(
                _room(one.cpu, one.is_side), about.net_ns, about.entries, about.cold, about.entry
            )
            for one, about in ((one, one.summary) for one in self.earlier)
        ]
        own = [
            Entries(
                _room(row.cpu, row.is_side),
                net_ns,
                *carried,
                calibration.entry(entry_kind(self.sources[row.source])),
            )
            for row, net_ns, carried in zip(self._rows, noise, self._carried(), strict=True)
        ]
        return fitting([*earlier, *own], wall_ns)

    def _carried(self) -> list[tuple[int, int]]:
        """By row: entries, and how many of these are cold."""
        known = zip(self._entries.tolist(), self._cold.tolist(), strict=True)
        return [*known, *[(0, 0)] * (len(self._rows) - len(self._entries))]

    def _by_row(self, entries: Costs, short_lived: Sequence[ShortLived]) -> Iterator[SourceSummary]:
        """Row by row. The numbers leave NumPy together: one by one they are most of the cost."""
        noise, idle, carried = self._noise.tolist(), self._idle.tolist(), self._carried()
        histograms = self._histogram.copy()
        triggers = self._by_trigger.by_row(entries.__getitem__)
        tasks = self._by_task.by_row(entries.__getitem__)
        started = rows_by_task(short_lived)
        for row, about in enumerate(self._rows):
            count, net_ns, max_ns, max_start_ns = noise[row]
            yield SourceSummary(
                source=self.sources[about.source],
                count=count,
                net_ns=net_ns,
                max_ns=max_ns if count else 0,
                max_start_ns=max_start_ns,
                idle_count=idle[row][COUNT],
                idle_ns=idle[row][TOTAL],
                histogram=histograms[row],
                triggers=triggers.get(row, ()),
                origin=about.origin,
                entries=carried[row][0],
                cold=carried[row][1],
                entry=entries[row],
                tasks=with_short_lived(tasks.get(row, ()), started, self.directory),
            )

    def _cpu(
        self, cpu: int, sources: list[SourceSummary], side: Iterable[SourceSummary]
    ) -> CpuSummary:
        longest = self.intervals.longest_of(cpu)
        classes: dict[str, list[SourceSummary]] = {}
        for one in side:
            classes.setdefault(one.source.noise_class, []).append(one)
        return CpuSummary(
            cpu=cpu,
            noise_ns=sum(one.net_ns for one in sources),
            idle_ns=sum(one.idle_ns for one in sources),
            max_single_ns=longest.noise_ns if longest else 0,
            max_single_start_ns=longest.start_ns if longest else 0,
            sources=largest_sources_first(sources),
            side={name: largest_sources_first(found) for name, found in sorted(classes.items())},
        )
