"""Adds up the periods of a running trace: everything that is exported, in ns and counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from noisetop.counters.losses import LOSSES
from noisetop.counters.overhead import OVERHEAD
from noisetop.counters.period import PeriodCounters
from noisetop.counters.tick_stops import TICK_STOPS
from noisetop.events.interruption import OTHER, OTHER_TID, SIDE_LEVEL, Flag, Interruptions, Source
from noisetop.events.origin import Origin
from noisetop.metrics.bounded_series import MOST, Amounts, BoundedSeries, Key
from noisetop.metrics.label_values import source_value
from noisetop.metrics.stolen import OTHER_PAIR, StolenTime
from noisetop.summary.max_single import LongestIntervals, NoiseInterval
from noisetop.summary.summary import CpuSummary, SourceSummary, Summary
from noisetop.tables.rows import select

BOUNDS_NS = (
    100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 1_000_000,
    10_000_000,
)  # fmt: skip
"""Upper bounds of the buckets of interruptions; what is longer is in one more."""
WINDOW_NS = 60_000_000_000
"""Of the longest interval of noise: more than one scrape, so that all scrapers see it."""

_COST = 1
"""Place of the cost among the amounts of a source."""
_KEPT = 8
"""Intervals of a CPU that are asked for each time: an old one, which nothing has followed yet, must
not hide those that come then."""

Rows = list[tuple[Key, Amounts]]


@dataclass(frozen=True, slots=True)
class Listed:
    """Series of one kind, in bounded number."""

    rows: Rows
    unlisted_ns: int
    """Net time of series that are not listed any more."""
    dropped: int
    """Keys that are told as others."""

    @classmethod
    def of(cls, series: BoundedSeries) -> Listed:
        """As they are now."""
        return cls(series.rows(), series.unlisted[0], series.dropped)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All totals at one moment; nothing changes it any more."""

    traced_ns: int
    noise: Rows
    """By CPU, class, origin and why it is set aside: net time, cost, interruptions."""
    sources: Listed
    """By class, source, origin, why it is set aside, and CPU where that was asked for: the same."""
    stolen: Listed
    """By victim, its pod, culprit and its pod: net time."""
    waits: Listed
    """By reason, control group and pod: time and count."""
    side: Rows
    """By CPU and class, of what is no noise, such as page faults: net time and count."""
    buckets: Mapping[str, tuple[int, ...]]
    """By class: interruptions up to each bound, those beyond, and the sum of their net time."""
    max_single_ns: Mapping[int, int]
    """By CPU, of the latest minute."""
    tick_stops: Mapping[str, int]
    lost: Mapping[str, int]
    unpaired: Mapping[str, int]
    """Beginnings and ends that the kernel did not report."""
    own_cpu_ns: int
    bpf_ns: float | None
    """None: not measured."""
    calibrated: bool
    """Whether costs are known; else they are net times."""
    info: Mapping[str, str] = field(default_factory=dict)
    """What does not change, as labels."""
    checks: Mapping[str, str] = field(default_factory=dict)
    """Results of the isolation audit, by id."""


def _source_other(key: Key) -> Key:
    return (key[0], OTHER, *key[2:])


def _pair_other(_: Key) -> Key:
    return OTHER_PAIR


def _wait_other(key: Key) -> Key:
    return (key[0], OTHER, "")


@dataclass(slots=True)
class MetricTotals:
    """Takes each period once, its tables and then its summary. ``sources`` are those that tables
    index by now."""

    cpus: tuple[int, ...]
    per_cpu: bool = False
    info: Mapping[str, str] = field(default_factory=dict)
    checks: Mapping[str, str] = field(default_factory=dict)
    _traced_ns: int = 0
    _noise: dict[Key, list[int]] = field(default_factory=dict)
    _side: dict[Key, list[int]] = field(default_factory=dict)
    _sources: BoundedSeries = field(init=False)
    _stolen: BoundedSeries = field(default_factory=lambda: BoundedSeries(1, _pair_other))
    _waits: BoundedSeries = field(default_factory=lambda: BoundedSeries(2, _wait_other))
    _buckets: dict[str, list[int]] = field(default_factory=dict)
    _pairs: dict[Key, Amounts] = field(default_factory=dict)
    """Of the period whose summary comes next."""
    _intervals: LongestIntervals = field(default_factory=lambda: LongestIntervals(_KEPT))
    _singles: dict[int, list[NoiseInterval]] = field(default_factory=dict)
    """By CPU, longest first, each one shorter than those that ended before it."""
    _ticks: dict[str, int] = field(default_factory=dict)
    _counters: PeriodCounters = field(default_factory=PeriodCounters)
    """Of the latest period; some of them are since the start."""

    def __post_init__(self) -> None:
        most = MOST * len(self.cpus) if self.per_cpu else MOST
        self._sources = BoundedSeries(3, _source_other, most, ranked=_COST)

    def add_tables(
        self,
        ended: Interruptions,
        part: Interruptions,
        about: StolenTime,
        sources: Sequence[Source],
    ) -> None:
        """Interruptions that ended in a period, some or all of them, and the part that the period
        has of them."""
        longest = Flag.OUTERMOST.among(ended["flags"]) & (ended["origin"] != int(Origin.SELF))
        longest &= (ended["victim_tid"] != 0) & (ended["level"] != SIDE_LEVEL)
        self._intervals.add(select(ended, longest))
        for pair, amounts in about.of(part).items():
            self._pairs[pair] = _sum(self._pairs.get(pair), amounts)
        noise = select(part, (part["victim_tid"] != 0) & (part["level"] != SIDE_LEVEL))
        place = np.searchsorted(BOUNDS_NS, noise["net_ns"].astype(np.int64), side="left")
        names = list(dict.fromkeys(one.noise_class for one in sources))
        classes = np.array([names.index(one.noise_class) for one in sources], np.int64)
        at = classes.take(noise["source"]) * (len(BOUNDS_NS) + 1) + place
        counts = np.bincount(at, minlength=len(names) * (len(BOUNDS_NS) + 1)).reshape(
            len(names), -1
        )
        for name, row in zip(names, counts.tolist(), strict=True):
            if any(row):
                so_far = self._buckets.setdefault(name, [0] * (len(row) + 1))
                for bucket, count in enumerate(row):
                    so_far[bucket] += count

    def add(self, interval: Summary, about: StolenTime) -> None:
        """The summary of the period whose tables came before."""
        duration_ns = interval.duration_ns
        self._traced_ns += duration_ns
        found: dict[Key, Amounts] = {}
        for cpu in interval.cpus:
            self._add_cpu(cpu, found)
        self._sources.add(found, duration_ns)
        self._stolen.add(self._pairs, duration_ns)
        self._pairs = {}
        self._waits.add(_waits_of(interval, about), duration_ns)
        for stops in interval.counters.of(TICK_STOPS).values():
            for result, count in stops.items():
                self._ticks[result] = self._ticks.get(result, 0) + count
        self._note_singles(interval.end_ns)
        self._counters = interval.counters

    def _add_cpu(self, cpu: CpuSummary, found: dict[Key, Amounts]) -> None:
        """Adds the noise of a CPU, and its sources to those that are ``found``."""
        number = str(cpu.cpu)
        for one in cpu.sources:
            if not one.count:
                continue  # it met an idle CPU only
            about = one.source.noise_class, one.origin.label, one.aside
            amounts = _amounts(one)
            _add(self._noise, (number, *about), amounts)
            sums = self._buckets.setdefault(one.source.noise_class, [0] * (len(BOUNDS_NS) + 2))
            sums[-1] += one.net_ns
            key = (about[0], source_value(one.source), *about[1:], number if self.per_cpu else "")
            found[key] = _sum(found.get(key), amounts)
        for name, sides in cpu.side.items():
            for one in sides:
                _add(self._side, (number, name), (one.net_ns, one.count))

    def _note_singles(self, now_ns: int) -> None:
        for cpu in self.cpus:
            self._singles[cpu] = _lately(
                [*self._singles.get(cpu, ()), *self._intervals.worst_of(cpu)], now_ns - WINDOW_NS
            )
        self._intervals.forget()

    def snapshot(self) -> Snapshot:
        """Everything so far."""
        losses, overhead = self._counters.of(LOSSES), self._counters.of(OVERHEAD)
        return Snapshot(
            traced_ns=self._traced_ns,
            noise=_rows(self._noise),
            sources=Listed.of(self._sources),
            stolen=Listed.of(self._stolen),
            waits=Listed.of(self._waits),
            side=_rows(self._side),
            buckets={name: tuple(sums) for name, sums in self._buckets.items()},
            max_single_ns={
                cpu: some[0].noise_ns if some else 0 for cpu, some in self._singles.items()
            },
            tick_stops=dict(self._ticks),
            lost=losses.dropped_by_reason(),
            unpaired=losses.unpaired_by_reason(),
            own_cpu_ns=overhead.cpu_ns,
            bpf_ns=overhead.bpf_ns,
            calibrated=any(amounts[1] != amounts[0] for amounts in self._noise.values()),
            info=self.info,
            checks=self.checks,
        )


def _lately(intervals: Iterable[NoiseInterval], since_ns: int) -> list[NoiseInterval]:
    """Those that ended later, without any that a longer and later one makes pointless."""
    kept: list[NoiseInterval] = []
    for one in sorted(intervals, key=lambda one: (-one.end_ns, -one.noise_ns)):
        if one.end_ns > since_ns and (not kept or one.noise_ns > kept[-1].noise_ns):
            kept.append(one)
    return kept[::-1]


def _amounts(one: SourceSummary) -> Amounts:
    """Net time, cost or where that is not known net time, and interruptions."""
    return one.net_ns, one.rank_ns, one.count


def _add(sums: dict[Key, list[int]], key: Key, amounts: Amounts) -> None:
    so_far = sums.setdefault(key, [0] * len(amounts))
    for place, amount in enumerate(amounts):
        so_far[place] += amount


def _sum(before: Amounts | None, amounts: Amounts) -> Amounts:
    return amounts if before is None else tuple(map(sum, zip(before, amounts, strict=True)))


def _rows(sums: Mapping[Key, Sequence[int]]) -> Rows:
    return [(key, tuple(some)) for key, some in sums.items()]


def _waits_of(interval: Summary, about: StolenTime) -> dict[Key, Amounts]:
    found: dict[Key, Amounts] = {}
    for one in interval.waits:
        group = (OTHER, "") if one.tid == OTHER_TID else about.group(one.tid)
        for reason, total_ns in one.wait.total_ns.items():
            key = (reason, *group)
            found[key] = _sum(found.get(key), (total_ns, one.wait.count.get(reason, 0)))
    return found
