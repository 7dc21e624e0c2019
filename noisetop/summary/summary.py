"""Pure aggregation of interruptions: per CPU and source, exact to the nanosecond.

The live view and the report of a recording use the same Summarizer, so they cannot differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from noisetop._tables import Groups, add_up
from noisetop.counters.calibration import CALIBRATION, Calibration, EntryCost
from noisetop.counters.period import PeriodCounters
from noisetop.counters.section import event_classes
from noisetop.events.interruption import OTHER, OTHER_TID, SIDE_LEVEL, Flag, Interruptions, Source
from noisetop.events.origin import Origin
from noisetop.events.task_directory import TaskDirectory
from noisetop.events.trigger import Trigger
from noisetop.events.victim_time import VictimTime
from noisetop.events.waits import TaskWait
from noisetop.summary.cost import cost_of, cost_range, entry_kind
from noisetop.summary.max_single import LongestIntervals
from noisetop.summary.short_lived import ShortLived, StartedTasks, with_short_lived
from noisetop.summary.trigger_totals import (
    TASKS,
    TriggerSummary,
    TriggerTotals,
    largest_first,
)
from noisetop.tables.group_sums import COUNT, TOTAL, Sums, counted, no_sums, widened
from noisetop.tables.histogram import BUCKETS, Counts, percentile_ns
from noisetop.tables.rows import select

_TASKS_KEPT = 1024
"""Tasks of a source on one CPU that are told apart: those that come first."""


@dataclass(frozen=True, slots=True)
class SourceSummary:
    """One source on one CPU, or on all watched CPUs together. ``idle_*`` is no noise."""

    source: Source
    count: int
    """Interruptions of a victim."""
    net_ns: int
    max_ns: int
    """Largest net time of one interruption."""
    max_start_ns: int
    """When that one began, CLOCK_MONOTONIC."""
    idle_count: int
    idle_ns: int
    histogram: Counts = field(repr=False, compare=False)
    """Net times of ``count``, buckets of noisetop.tables.histogram."""
    triggers: tuple[TriggerSummary, ...] = ()
    """Who caused the noise, largest first; together ``count`` and ``net_ns``."""
    origin: Origin = Origin.UNATTRIBUTED
    """Whose doing it was. What has several origins is as many sources."""
    entries: int = 0
    """Those of ``count`` that carry the cost of an entry into the kernel or of a switch."""
    entry: EntryCost | None = None
    """That cost; None: not calibrated."""
    tasks: tuple[TriggerSummary, ...] = ()
    """Of a thread the tasks that ran, by the ``tid`` of what stands for a trigger, or
    ShortLived.trigger; largest first, together ``count`` and ``net_ns``."""

    @property
    def cost_ns(self) -> int | None:
        """Estimate of what the victims lost: net time and entry costs; None: not calibrated."""
        return cost_of(self.net_ns, self.entries, self.entry)

    @property
    def cost_range_ns(self) -> tuple[int, int] | None:
        """The same with the 10th and 90th percentile of the entry cost."""
        return cost_range(self.net_ns, self.entries, self.entry)

    @property
    def rank_ns(self) -> int:
        """What it is ranked by: cost where that is known, else net time."""
        cost_ns = self.cost_ns
        return self.net_ns if cost_ns is None else cost_ns

    @property
    def is_external(self) -> bool:
        """Whether it is not the doing of the victim itself."""
        return self.origin is not Origin.SELF

    @property
    def mean_ns(self) -> float:
        """Mean net time."""
        return self.net_ns / self.count if self.count else 0.0

    def percentile_ns(self, share: float) -> int:
        """Net time that at most ``1 - share`` of the interruptions exceed, within 6.25 %."""
        return percentile_ns(self.histogram, share, self.max_ns)


@dataclass(frozen=True, slots=True)
class ClassTotal:
    """Count and net time of one class on one CPU."""

    count: int
    net_ns: int


@dataclass(frozen=True, slots=True)
class CpuSummary:
    """One watched CPU; ``cpu`` is None in the sum over all of them."""

    cpu: int | None
    noise_ns: int
    idle_ns: int
    max_single_ns: int
    """Longest contiguous interval of noise."""
    max_single_start_ns: int
    sources: tuple[SourceSummary, ...]
    """Largest first, by cost where that is known; last those that are self-inflicted."""
    side: Mapping[str, tuple[SourceSummary, ...]] = field(default_factory=dict)
    """By class: what is traced beside the noise and is no part of it, such as page faults of the
    victims and entries into the kernel; largest net time first."""

    @property
    def count(self) -> int:
        """Interruptions of a victim."""
        return sum(source.count for source in self.sources)

    @property
    def external(self) -> tuple[SourceSummary, ...]:
        """Sources that are not self-inflicted."""
        return tuple(one for one in self.sources if one.is_external)

    @property
    def external_ns(self) -> int:
        """Noise that is not self-inflicted: the headline, exact."""
        return sum(one.net_ns for one in self.external)

    @property
    def cost_ns(self) -> int | None:
        """Estimated cost of all noise; None: not calibrated."""
        return _cost(self.sources)

    @property
    def external_cost_ns(self) -> int | None:
        """Estimated cost of the noise that is not self-inflicted: the headline."""
        return _cost(self.external)

    @property
    def external_cost_range_ns(self) -> tuple[int, int] | None:
        """The same with the 10th and 90th percentile of the entry costs."""
        ranges = [one.cost_range_ns or (one.net_ns, one.net_ns) for one in self.external]
        if self.external_cost_ns is None:
            return None
        return sum(low for low, _ in ranges), sum(high for _, high in ranges)

    @property
    def by_origin(self) -> dict[str, int]:
        """Net time by the label of the origin, in the order of Origin; all that occurred."""
        totals = dict.fromkeys(Origin, 0)
        for one in self.sources:
            totals[one.origin] += one.net_ns
        return {origin.label: net_ns for origin, net_ns in totals.items() if net_ns}

    def by_class(self) -> dict[str, ClassTotal]:
        """Totals of each class that occurred."""
        totals: dict[str, ClassTotal] = {}
        for source in self.sources:
            before = totals.get(source.source.noise_class, ClassTotal(0, 0))
            totals[source.source.noise_class] = ClassTotal(
                before.count + source.count, before.net_ns + source.net_ns
            )
        return totals


@dataclass(frozen=True, slots=True)
class VictimWait:
    """A thread that could have run but did not."""

    tid: int
    name: str
    wait: TaskWait


@dataclass(frozen=True, slots=True)
class Victim:
    """A thread, and where its time went."""

    name: str
    time: VictimTime

    @property
    def lost_ns(self) -> int:
        """What it could have used and did not get."""
        time = self.time
        return time.wall_ns - time.on_cpu_ns - time.self_ns - time.blocked_ns


@dataclass(frozen=True, slots=True)
class Summary:
    """Everything that a view shows about a period."""

    start_ns: int
    end_ns: int
    cpus: tuple[CpuSummary, ...]
    counters: PeriodCounters = field(default_factory=PeriodCounters)
    """Side figures; no part of the noise."""
    tasks: dict[int, str] = field(default_factory=dict)
    """Names of victims by tid."""
    waits: tuple[VictimWait, ...] = ()
    """Of the victims, longest first."""
    victims: tuple[Victim, ...] = ()
    """Where the time of each of them went; who lost most first."""
    short_lived: tuple[ShortLived, ...] = ()
    """Tasks that are started again and again, most starts first."""
    directory: TaskDirectory = field(default_factory=TaskDirectory, compare=False)
    """Who the tasks are; of a running trace it grows."""

    @property
    def duration_ns(self) -> int:
        """Length of the period."""
        return self.end_ns - self.start_ns

    @property
    def noise_ns(self) -> int:
        """Noise on all watched CPUs, self-inflicted noise included."""
        return sum(cpu.noise_ns for cpu in self.cpus)

    def all_cpus(self) -> CpuSummary:
        """The watched CPUs taken together."""
        worst = max(self.cpus, key=lambda cpu: cpu.max_single_ns, default=None)
        return CpuSummary(
            cpu=None,
            noise_ns=self.noise_ns,
            idle_ns=sum(cpu.idle_ns for cpu in self.cpus),
            max_single_ns=worst.max_single_ns if worst else 0,
            max_single_start_ns=worst.max_single_start_ns if worst else 0,
            sources=_merged(source for cpu in self.cpus for source in cpu.sources),
            side={
                name: _merged(one for cpu in self.cpus for one in cpu.side.get(name, ()))
                for name in dict.fromkeys(name for cpu in self.cpus for name in cpu.side)
            },
        )


def _merged(parts: Iterable[SourceSummary]) -> tuple[SourceSummary, ...]:
    """The parts of each source and origin as one."""
    merged: dict[tuple[Source, Origin], list[SourceSummary]] = {}
    for part in parts:
        merged.setdefault((part.source, part.origin), []).append(part)
    return _largest_first(merge(same) for same in merged.values())


def merge(parts: Sequence[SourceSummary]) -> SourceSummary:
    """The sum of summaries, under the name of the one with the longest interruption, of equally
    long ones the earliest."""
    worst = max(parts, key=lambda part: (part.max_ns, -part.max_start_ns))
    return SourceSummary(
        source=worst.source,
        count=sum(part.count for part in parts),
        net_ns=sum(part.net_ns for part in parts),
        max_ns=worst.max_ns,
        max_start_ns=worst.max_start_ns,
        idle_count=sum(part.idle_count for part in parts),
        idle_ns=sum(part.idle_ns for part in parts),
        histogram=np.sum([part.histogram for part in parts], axis=0),
        triggers=largest_first(one for part in parts for one in part.triggers),
        origin=worst.origin,
        entries=sum(part.entries for part in parts),
        entry=worst.entry,
        tasks=largest_first(one for part in parts for one in part.tasks),
    )


def _largest_first(sources: Iterable[SourceSummary]) -> tuple[SourceSummary, ...]:
    return tuple(sorted(sources, key=_rank))


def _rank(one: SourceSummary) -> tuple[bool, int, int, tuple[str, ...], Origin]:
    return not one.is_external, -one.rank_ns, -one.idle_ns, one.source.path, one.origin


def _cost(sources: Sequence[SourceSummary]) -> int | None:
    """What has no calibrated entry counts with its net time; None: nothing has one."""
    if not any(one.entry for one in sources):
        return None
    return sum(one.rank_ns for one in sources)


def _longest_first(
    waits: Mapping[int, TaskWait], tasks: Mapping[int, str]
) -> tuple[VictimWait, ...]:
    found = [VictimWait(tid, _name(tid, tasks), wait) for tid, wait in waits.items()]
    return tuple(sorted(found, key=lambda one: (-one.wait.sum_ns, one.tid)))


def _victims(victims: Mapping[int, VictimTime], tasks: Mapping[int, str]) -> tuple[Victim, ...]:
    found = [Victim(_name(tid, tasks), time) for tid, time in victims.items()]
    return tuple(sorted(found, key=lambda one: (-one.lost_ns, -one.time.run_ns, one.time.tid)))


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
    _histogram: npt.NDArray[np.int64] = field(
        default_factory=lambda: np.zeros((0, BUCKETS), np.int64)
    )
    intervals: LongestIntervals = field(default_factory=lambda: LongestIntervals(keep=1))
    """Finds the longest intervals; say how many to keep."""
    earlier: tuple[Total, ...] = ()
    """Totals to count on from, each source and origin of a CPU once."""
    started: StartedTasks = field(default_factory=StartedTasks)
    _by_trigger: TriggerTotals = field(init=False)
    _by_task: TriggerTotals = field(default_factory=lambda: TriggerTotals(TASKS, _TASKS_KEPT))
    _threads: npt.NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, bool))
    """By source: whether it is a thread."""

    def __post_init__(self) -> None:
        self._by_trigger = TriggerTotals(self.triggers)

    def add(self, table: Interruptions) -> None:
        """Adds interruptions; those of one CPU about in the order in which they ended, see
        noisetop.summary.max_single.HOLD_NS."""
        noise = table["victim_tid"] != 0
        if not noise.all():
            idle = select(table, ~noise)
            rows = self._rows_of(idle)
            add_up((rows, idle["net_ns"], idle["start_ns"]), self._idle, None)
            table = select(table, noise)
        rows = self._rows_of(table)
        add_up((rows, table["net_ns"], table["start_ns"]), self._noise, self._histogram)
        carries = (table["flags"] & Flag.ENTRY != 0) | (table["level"] == SIDE_LEVEL)
        self._entries = counted(self._entries, rows[carries], len(self._rows))
        self._by_trigger.add(rows, table["trigger"], table["net_ns"], carries)
        self._add_threads(table, rows, carries)
        longest = (table["flags"] & Flag.OUTERMOST != 0) & (table["origin"] != Origin.SELF)
        self.intervals.add(select(table, longest))

    def _add_threads(
        self, table: Interruptions, rows: npt.NDArray[np.uint32], carries: npt.NDArray[np.bool_]
    ) -> None:
        """Which tasks ran, where a source is a thread."""
        fresh = [one.noise_class == "thread" for one in self.sources[len(self._threads) :]]
        self._threads = np.append(self._threads, np.array(fresh, bool))
        ran = self._threads.take(table["source"]) & (table["tid"] != 0)
        threads = select(table, ran)
        self._by_task.add(rows[ran], threads["tid"], threads["net_ns"], carries[ran])
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
    ) -> Summary:
        """What was added so far, as the summary of the period from ``start_ns`` to ``end_ns``."""
        by_cpu: dict[int, list[SourceSummary]] = {cpu: [] for cpu in self.cpus}
        side: dict[int, list[SourceSummary]] = {}
        moments: list[tuple[int, Source, int]] = []
        counters = counters or PeriodCounters()
        short_lived = self.started.rows(self.directory, start_ns)
        for cpu, is_side, found in self.totals(counters.of(CALIBRATION), short_lived):
            if not is_side:
                by_cpu.setdefault(cpu, []).append(found)
            elif found.source.noise_class in event_classes():
                moments.append((cpu, found.source, found.count + found.idle_count))
            else:
                by_cpu.setdefault(cpu, [])
                side.setdefault(cpu, []).append(found)
        cpus = tuple(
            self._cpu(cpu, sources, side.get(cpu, ())) for cpu, sources in sorted(by_cpu.items())
        )
        tasks = tasks or {}
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
        )

    def totals(
        self, calibration: Calibration, short_lived: Sequence[ShortLived] = ()
    ) -> list[Total]:
        """What was added so far, each source and origin of a CPU once."""
        rows = zip(self._rows, self._by_row(calibration, short_lived), strict=True)
        own = [Total(row.cpu, row.is_side, found) for row, found in rows]
        if not self.earlier:
            return own
        same: dict[tuple[int, bool, Source, Origin], list[SourceSummary]] = {}
        for cpu, is_side, one in (*self.earlier, *own):
            same.setdefault((cpu, is_side, one.source, one.origin), []).append(one)
        return [
            Total(cpu, is_side, merge(parts) if len(parts) > 1 else parts[0])
            for (cpu, is_side, _, _), parts in same.items()
        ]

    def _by_row(
        self, calibration: Calibration, short_lived: Sequence[ShortLived]
    ) -> Iterator[SourceSummary]:
        """Row by row. The numbers leave NumPy together: one by one they are most of the cost."""
        noise, idle, carried = self._noise.tolist(), self._idle.tolist(), self._entries.tolist()
        carried += [0] * (len(self._rows) - len(carried))
        histograms = self._histogram.copy()
        entries = [calibration.entry(entry_kind(self.sources[row.source])) for row in self._rows]
        triggers = self._by_trigger.by_row(entries.__getitem__)
        tasks = self._by_task.by_row(entries.__getitem__)
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
                entries=carried[row],
                entry=entries[row],
                tasks=with_short_lived(tasks.get(row, ()), short_lived, self.directory),
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
            sources=_largest_first(sources),
            side={name: _largest_first(found) for name, found in sorted(classes.items())},
        )
