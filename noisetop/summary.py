"""Pure aggregation of interruptions: per CPU and source, exact to the nanosecond.

The live view and the report of a recording use the same Summarizer, so they cannot differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from noisetop._tables import Groups, add_up
from noisetop.absence import Absence
from noisetop.event import ENTRY, FAULT, HARDWARE, Flag, Interruptions, Source
from noisetop.hardware_figures import HardwareFigure, instant_figures
from noisetop.histogram import BUCKETS, Counts, percentile_ns
from noisetop.rows import taken
from noisetop.stretches import WorstStretches
from noisetop.sums import COUNT, TOTAL, Sums, no_sums, widened
from noisetop.tick import TickStops, added
from noisetop.trigger import Trigger
from noisetop.trigger_totals import TriggerSummary, TriggerTotals, largest_first
from noisetop.waits import TaskWait


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
    """Net times of ``count``, buckets of noisetop.histogram."""
    triggers: tuple[TriggerSummary, ...] = ()
    """Who caused the noise, largest net time first; together ``count`` and ``net_ns``."""

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
    """Longest contiguous stretch of noise."""
    max_single_start_ns: int
    sources: tuple[SourceSummary, ...]
    """Largest net time first."""
    faults: tuple[SourceSummary, ...] = ()
    """Page faults of victims, where they were traced: what those did themselves, so no noise. By
    kind; a source with a third step holds how long these slept, the others what they ran."""
    entries: tuple[SourceSummary, ...] = ()
    """Entries into the kernel, where they were traced: what lies around the noise and is no part of
    it. System calls are not among them."""
    tick_stops: TickStops = field(default_factory=dict)
    """Attempts of the kernel to stop the tick."""

    @property
    def count(self) -> int:
        """Interruptions of a victim."""
        return sum(source.count for source in self.sources)

    def by_class(self) -> dict[str, ClassTotal]:
        """Totals of each class that occurred."""
        totals: dict[str, ClassTotal] = {}
        for source in self.sources:
            before = totals.get(source.source.noise_class, ClassTotal(0, 0))
            totals[source.source.noise_class] = ClassTotal(
                before.count + source.count, before.net_ns + source.net_ns
            )
        return totals


_DROPPED_EVENTS = ("ring_full", "nesting")
_DROPPED = (*_DROPPED_EVENTS, "trigger")


@dataclass(frozen=True, slots=True)
class Losses:
    """What happened but is not among the events."""

    by_cpu: dict[int, dict[str, int]] = field(default_factory=dict)
    """Per CPU and reason; reasons are those of ``enum noise_loss``, in lower case."""
    unread: int = 0
    """Dropped after the rings because the live view did not fetch them in time."""
    unwritten: int = 0
    """Dropped after the rings because the disk did not take them."""
    recursion_misses: int = 0
    """Hits that the kernel skipped because the same program was running on that CPU."""

    @property
    def total(self) -> int:
        """Records that the tool was too slow for, wherever they got lost: events, and what tells
        who caused one."""
        return self._sum(_DROPPED) + self.unread + self.unwritten + self.recursion_misses

    def events_lost_on(self, cpu: int) -> int:
        """Events alone that the tool was too slow for, on one CPU and after its ring."""
        counts = self.by_cpu.get(cpu, {})
        return sum(counts.get(reason, 0) for reason in _DROPPED_EVENTS) + self.unread

    @property
    def unpaired(self) -> int:
        """Beginnings, ends and context switches that the kernel did not report."""
        return self._sum(None) - self._sum(_DROPPED)

    def _sum(self, reasons: tuple[str, ...] | None) -> int:
        return sum(
            count
            for counts in self.by_cpu.values()
            for reason, count in counts.items()
            if reasons is None or reason in reasons
        )


@dataclass(frozen=True, slots=True)
class OwnCost:
    """What the tool itself used so far. None: not measured."""

    cpu_ns: int = 0
    """CPU time of all its threads."""
    wakeups: int = 0
    """Voluntary context switches of all its threads."""
    bpf_ns_per_record: float | None = None
    """What all BPF programs on all CPUs took for each record, by the kernel's statistics, sampled
    just before the books were opened. Those that wrote nothing down are in it."""
    records: int = 0
    """Written down so far."""
    housekeeping: str = ""
    """CPUs that its threads are bound to; empty: none was left, they run anywhere."""

    @property
    def bpf_ns(self) -> float | None:
        """What the BPF programs took so far, about: as much for each record as when sampled."""
        per_record = self.bpf_ns_per_record
        return None if per_record is None else per_record * self.records


@dataclass(frozen=True, slots=True)
class VictimWait:
    """A thread that could have run but did not."""

    tid: int
    name: str
    wait: TaskWait


@dataclass(frozen=True, slots=True)
class Summary:
    """Everything that a view shows about a period."""

    start_ns: int
    end_ns: int
    cpus: tuple[CpuSummary, ...]
    losses: Losses = Losses()
    own_cost: OwnCost = OwnCost()
    missing: tuple[str, ...] = ()
    """Sources that this kernel does not offer."""
    tasks: dict[int, str] = field(default_factory=dict)
    """Names of victims by tid."""
    waits: tuple[VictimWait, ...] = ()
    """Of the victims, longest first."""
    absences: tuple[Absence, ...] = ()
    """CPUs that were offline for a part of the period: nothing is known of them then."""
    hardware: tuple[HardwareFigure, ...] = ()
    """What the machine itself admits to; no part of the noise."""
    missing_hardware: tuple[str, ...] = ()
    """What it does not tell, and why, one line each."""

    @property
    def duration_ns(self) -> int:
        """Length of the period."""
        return self.end_ns - self.start_ns

    @property
    def noise_ns(self) -> int:
        """Noise on all watched CPUs."""
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
            faults=_merged(fault for cpu in self.cpus for fault in cpu.faults),
            entries=_merged(entry for cpu in self.cpus for entry in cpu.entries),
            tick_stops=added(cpu.tick_stops for cpu in self.cpus),
        )


def _merged(parts: Iterable[SourceSummary]) -> tuple[SourceSummary, ...]:
    """The parts of each source as one."""
    merged: dict[Source, list[SourceSummary]] = {}
    for part in parts:
        merged.setdefault(part.source, []).append(part)
    return _largest_first(_merge(same) for same in merged.values())


def _merge(parts: Sequence[SourceSummary]) -> SourceSummary:
    worst = max(parts, key=lambda part: part.max_ns)
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
    )


def _largest_first(sources: Iterable[SourceSummary]) -> tuple[SourceSummary, ...]:
    return tuple(sorted(sources, key=lambda one: (-one.net_ns, -one.idle_ns, one.source.path)))


def _longest_first(
    waits: Mapping[int, TaskWait], tasks: Mapping[int, str]
) -> tuple[VictimWait, ...]:
    found = [VictimWait(tid, tasks.get(tid, ""), wait) for tid, wait in waits.items()]
    return tuple(sorted(found, key=lambda one: (-one.wait.sum_ns, one.tid)))


@dataclass(slots=True)
class Summarizer:
    """Folds tables of interruptions, in any number of pieces, into a Summary.

    ``sources`` and ``triggers`` are the lists that the tables index; they may grow between calls.
    """

    cpus: tuple[int, ...]
    sources: Sequence[Source]
    triggers: Sequence[Trigger]
    _rows: list[tuple[int, int]] = field(default_factory=list)
    """CPU and number of the source of each row of the figures."""
    _groups: Groups = field(default_factory=lambda: Groups(2))
    _noise: Sums = field(default_factory=no_sums)
    _idle: Sums = field(default_factory=no_sums)
    _histogram: npt.NDArray[np.int64] = field(
        default_factory=lambda: np.zeros((0, BUCKETS), np.int64)
    )
    stretches: WorstStretches = field(default_factory=lambda: WorstStretches(keep=1))
    """Finds the longest stretches; say how many to keep."""
    _by_trigger: TriggerTotals = field(init=False)

    def __post_init__(self) -> None:
        self._by_trigger = TriggerTotals(self.triggers)

    def add(self, table: Interruptions) -> None:
        """Adds interruptions; those of one CPU about in the order in which they ended, see
        noisetop.stretches.HOLD_NS."""
        noise = table["victim_tid"] != 0
        if not noise.all():
            idle = taken(table, ~noise)
            rows = self._rows_of(idle)
            add_up((rows, idle["net_ns"], idle["start_ns"]), self._idle, None)
            table = taken(table, noise)
        rows = self._rows_of(table)
        add_up((rows, table["net_ns"], table["start_ns"]), self._noise, self._histogram)
        self._by_trigger.add(rows, table["trigger"], table["net_ns"])
        self.stretches.add(taken(table, table["flags"] & Flag.OUTERMOST != 0))

    def _rows_of(self, table: Interruptions) -> npt.NDArray[np.uint32]:
        """Row of each interruption; grows the arrays by the rows that are new."""
        rows = np.empty(len(table), np.uint32)
        cpus, sources = table["cpu"], table["source"]
        fresh = self._groups.numbers((cpus, sources), rows)
        if fresh:
            self._rows += [(int(cpus[first]), int(sources[first])) for first in fresh]
            self._noise = widened(self._noise, len(self._rows))
            self._idle = widened(self._idle, len(self._rows))
            more = np.zeros((len(fresh), BUCKETS), np.int64)
            self._histogram = np.concatenate([self._histogram, more])
        return rows

    def summary(
        self,
        start_ns: int,
        end_ns: int,
        losses: Losses | None = None,
        own_cost: OwnCost | None = None,
        missing: tuple[str, ...] = (),
        tasks: dict[int, str] | None = None,
        waits: Mapping[int, TaskWait] | None = None,
        absences: tuple[Absence, ...] = (),
        hardware: tuple[HardwareFigure, ...] = (),
        missing_hardware: tuple[str, ...] = (),
        tick_stops: Mapping[int, TickStops] | None = None,
    ) -> Summary:
        """What was added so far, as the summary of the period from ``start_ns`` to ``end_ns``."""
        by_cpu: dict[int, list[SourceSummary]] = {cpu: [] for cpu in self.cpus}
        moments: list[tuple[int, Source, int]] = []
        for (cpu, _), found in zip(self._rows, self._by_row(), strict=True):
            if found.source.noise_class == HARDWARE:
                moments.append((cpu, found.source, found.count + found.idle_count))
            else:
                by_cpu.setdefault(cpu, []).append(found)
        stops = tick_stops or {}
        cpus = tuple(
            self._cpu(cpu, sources, stops.get(cpu, {})) for cpu, sources in sorted(by_cpu.items())
        )
        tasks = tasks or {}
        return Summary(
            start_ns,
            end_ns,
            cpus,
            losses or Losses(),
            own_cost or OwnCost(),
            missing,
            tasks,
            _longest_first(waits or {}, tasks),
            absences,
            (*hardware, *instant_figures(moments)),
            missing_hardware,
        )

    def _by_row(self) -> Iterator[SourceSummary]:
        """Row by row. The numbers leave NumPy together: one by one they are most of the cost."""
        noise, idle = self._noise.tolist(), self._idle.tolist()
        histograms = self._histogram.copy()
        triggers = self._by_trigger.by_row()
        for row, (_, source) in enumerate(self._rows):
            count, net_ns, max_ns, max_start_ns = noise[row]
            yield SourceSummary(
                source=self.sources[source],
                count=count,
                net_ns=net_ns,
                max_ns=max_ns if count else 0,
                max_start_ns=max_start_ns,
                idle_count=idle[row][COUNT],
                idle_ns=idle[row][TOTAL],
                histogram=histograms[row],
                triggers=triggers.get(row, ()),
            )

    def _cpu(self, cpu: int, rows: list[SourceSummary], tick_stops: TickStops) -> CpuSummary:
        longest = self.stretches.longest_of(cpu)
        apart: dict[str, list[SourceSummary]] = {FAULT: [], ENTRY: []}
        sources: list[SourceSummary] = []
        for one in rows:
            apart.get(one.source.noise_class, sources).append(one)
        return CpuSummary(
            cpu=cpu,
            noise_ns=sum(source.net_ns for source in sources),
            idle_ns=sum(source.idle_ns for source in sources),
            max_single_ns=longest.noise_ns if longest else 0,
            max_single_start_ns=longest.start_ns if longest else 0,
            sources=_largest_first(sources),
            faults=_largest_first(apart[FAULT]),
            entries=_largest_first(apart[ENTRY]),
            tick_stops=tick_stops,
        )
