"""Pure aggregation of interruptions: per CPU and source, exact to the nanosecond.

The live view and the report of a recording use the same Summarizer, so they cannot differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
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
from noisetop.summary.cost import (
    Costs,
    Entries,
    cost_of,
    cost_range,
    entries_in,
    entry_kind,
    fitting,
    shared_entry,
)
from noisetop.summary.cpu_victim import CpuVictims, SetAside
from noisetop.summary.max_single import LongestIntervals
from noisetop.summary.short_lived import (
    ShortLived,
    StartedTasks,
    rows_by_task,
    with_short_lived,
)
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
    """When that one began, CLOCK_MONOTONIC; 0: not known, of a part of what has one name."""
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
    aside: str = ""
    """Why the headline is without it although others did it: ``victim``, the victim of the CPU ran
    while other tasks waited; ``contention``, a task did on a CPU that nobody claims."""

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
        """Whether it is in the headline: neither the doing of the victim itself, nor the victim's
        own turn, nor contention of tasks of which none is the victim."""
        return self.origin is not Origin.SELF and not self.aside

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

    def aside_ns(self, why: str) -> int:
        """Net time of the sources that are set aside for this reason; see SourceSummary.aside."""
        return sum(one.net_ns for one in self.sources if one.aside == why)

    @property
    def count(self) -> int:
        """Interruptions of a victim."""
        return sum(source.count for source in self.sources)

    @property
    def external(self) -> tuple[SourceSummary, ...]:
        """Sources that are not self-inflicted."""
        # As SourceSummary.is_external, which costs a call for each: views ask for all CPUs.
        return tuple(
            [one for one in self.sources if one.origin is not Origin.SELF and not one.aside]
        )

    @property
    def external_ns(self) -> int:
        """Noise of the external sources: the headline, exact."""
        return sum([one.net_ns for one in self.external])

    @property
    def cost_ns(self) -> int | None:
        """Estimated cost of all noise; None: not calibrated."""
        return _cost(self.sources)

    @property
    def external_cost_ns(self) -> int | None:
        """Estimated cost of the external sources: the headline."""
        return _cost(self.external)

    @property
    def external_cost_range_ns(self) -> tuple[int, int] | None:
        """The same with the 10th and 90th percentile of the entry costs."""
        ranges = [one.cost_range_ns or (one.net_ns, one.net_ns) for one in self.external]
        if self.external_cost_ns is None:
            return None
        return sum(low for low, _ in ranges), sum(high for _, high in ranges)

    @property
    def is_cut(self) -> bool:
        """Whether the cost was cut to the wall time: see noisetop.summary.cost.fitting()."""
        return any(one.entry is not None and one.entry.cut for one in self.sources)

    @property
    def by_origin(self) -> dict[str, int]:
        """Net time by the label of the origin, in the order of Origin; all that occurred."""
        totals = dict.fromkeys(Origin, 0)
        for one in self.sources:
            totals[one.origin] += one.net_ns
        return {origin.label: net_ns for origin, net_ns in totals.items() if net_ns}

    def by_class(self) -> dict[str, ClassTotal]:
        """Totals of each class that occurred."""
        sums: dict[str, list[int]] = {}
        for one in self.sources:
            total = sums.setdefault(one.source.path[0], [0, 0])
            total[0] += one.count
            total[1] += one.net_ns
        return {name: ClassTotal(*total) for name, total in sums.items()}


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
    cpu_victims: CpuVictims = field(default_factory=dict)
    """Whose each CPU is, where whichever task runs is watched."""

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
    """The parts of each source and origin as one; what is set aside stays apart."""
    merged: dict[tuple[Source, Origin, str], list[SourceSummary]] = {}
    for part in parts:
        merged.setdefault((part.source, part.origin, part.aside), []).append(part)
    return _largest_first(merge(same) if len(same) > 1 else same[0] for same in merged.values())


def merge(parts: Sequence[SourceSummary]) -> SourceSummary:
    """The sum of summaries, under the name of the one with the longest interruption, of equally
    long ones the earliest."""
    max_ns = max([part.max_ns for part in parts])
    worst = min([one for one in parts if one.max_ns == max_ns], key=attrgetter("max_start_ns"))
    return SourceSummary(
        source=worst.source,
        count=sum([part.count for part in parts]),
        net_ns=sum([part.net_ns for part in parts]),
        max_ns=worst.max_ns,
        max_start_ns=worst.max_start_ns,
        idle_count=sum([part.idle_count for part in parts]),
        idle_ns=sum([part.idle_ns for part in parts]),
        histogram=np.add.reduce([part.histogram for part in parts]),
        triggers=largest_first(one for part in parts for one in part.triggers),
        origin=worst.origin,
        entries=sum([part.entries for part in parts]),
        entry=shared_entry([(part.entries, part.entry) for part in parts]),
        tasks=largest_first(one for part in parts for one in part.tasks),
        aside=worst.aside,
    )


def _largest_first(sources: Iterable[SourceSummary]) -> tuple[SourceSummary, ...]:
    return tuple(sorted(sources, key=_rank))


def _rank(one: SourceSummary) -> tuple[bool, int, int, tuple[str, ...], Origin, str]:
    return not one.is_external, -one.rank_ns, -one.idle_ns, one.source.path, one.origin, one.aside


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
    entries = [entries_in(task.net_ns, task.cost_ns, one.entry) for task in tasks]
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
        entries=sum(entries),
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
        carried = [*self._entries.tolist(), *[0] * (len(self._rows) - len(self._entries))]
        earlier = [
            Entries(_room(one.cpu, one.is_side), about.net_ns, about.entries, about.entry)
            for one, about in ((one, one.summary) for one in self.earlier)
        ]
        own = [
            Entries(
                _room(row.cpu, row.is_side),
                net_ns,
                count,
                calibration.entry(entry_kind(self.sources[row.source])),
            )
            for row, net_ns, count in zip(self._rows, noise, carried, strict=True)
        ]
        return fitting([*earlier, *own], wall_ns)

    def _by_row(self, entries: Costs, short_lived: Sequence[ShortLived]) -> Iterator[SourceSummary]:
        """Row by row. The numbers leave NumPy together: one by one they are most of the cost."""
        noise, idle, carried = self._noise.tolist(), self._idle.tolist(), self._entries.tolist()
        carried += [0] * (len(self._rows) - len(carried))
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
                entries=carried[row],
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
            sources=_largest_first(sources),
            side={name: _largest_first(found) for name, found in sorted(classes.items())},
        )
