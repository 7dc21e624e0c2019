"""What a view shows about a period: sources, CPUs, victims, and how parts of them add up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

import numpy as np

from noisetop.counters.calibration import EntryCost
from noisetop.counters.period import PeriodCounters
from noisetop.events.interruption import Source
from noisetop.events.origin import Origin
from noisetop.events.task_directory import TaskDirectory
from noisetop.events.victim_time import VictimTime
from noisetop.events.waits import TaskWait
from noisetop.summary.cost import cost_of, cost_range, shared_entry
from noisetop.summary.cpu_victim import CpuVictims
from noisetop.summary.short_lived import ShortLived
from noisetop.summary.trigger_totals import TriggerSummary, largest_first
from noisetop.tables.histogram import Counts, percentile_ns


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
    cold: int = 0
    """Those of ``entries`` that are cold."""
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
        return cost_of(self.net_ns, self.entries, self.cold, self.entry)

    @property
    def cost_range_ns(self) -> tuple[int, int] | None:
        """The same with the 10th and 90th percentile of the entry cost."""
        return cost_range(self.net_ns, self.entries, self.cold, self.entry)

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
    return largest_sources_first(
        merge(same) if len(same) > 1 else same[0] for same in merged.values()
    )


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
        cold=sum([part.cold for part in parts]),
        entry=shared_entry([(part.entries, part.cold, part.entry) for part in parts]),
        tasks=largest_first(one for part in parts for one in part.tasks),
        aside=worst.aside,
    )


def largest_sources_first(sources: Iterable[SourceSummary]) -> tuple[SourceSummary, ...]:
    """By what they are ranked by; those that are not external come last."""
    return tuple(sorted(sources, key=_rank))


def _rank(one: SourceSummary) -> tuple[bool, int, int, tuple[str, ...], Origin, str]:
    return not one.is_external, -one.rank_ns, -one.idle_ns, one.source.path, one.origin, one.aside


def _cost(sources: Sequence[SourceSummary]) -> int | None:
    """What has no calibrated entry counts with its net time; None: nothing has one."""
    if not any(one.entry for one in sources):
        return None
    return sum(one.rank_ns for one in sources)
