"""Short ways to write down summaries, samples and feeds."""

from __future__ import annotations

import queue
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from noisetop.counters.calibration import CALIBRATION, NONE, Calibration
from noisetop.counters.hardware import HARDWARE, HardwareCounters
from noisetop.counters.hardware_figures import HardwareFigure
from noisetop.counters.isolation_changes import ISOLATION, Changes
from noisetop.counters.losses import LOSSES, Losses
from noisetop.counters.offline_cpus import OFFLINE, OfflineInterval
from noisetop.counters.overhead import OVERHEAD, Overhead
from noisetop.counters.period import PeriodCounters
from noisetop.counters.tick_stops import TICK_STOPS, TickStops
from noisetop.counters.unavailable import UNAVAILABLE
from noisetop.events.interruption import Source
from noisetop.live.sample import Sample
from noisetop.machine.topology import CpuPlace
from noisetop.summary.summary import CpuSummary, SourceSummary, Summary, VictimWait
from noisetop.summary.trigger_totals import TriggerSummary
from noisetop.tables.histogram import BUCKETS, bucket_of

START_NS = 1_000_000_000_000
SECOND_NS = 1_000_000_000


def source(
    *path: str,
    durations_ns: Sequence[int] = (1_000,),
    max_start_ns: int = START_NS,
    idle_count: int = 0,
    idle_ns: int = 0,
    triggers: tuple[TriggerSummary, ...] = (),
) -> SourceSummary:
    """A source whose interruptions of a victim took ``durations_ns``."""
    table = np.array(durations_ns, np.uint64)
    return SourceSummary(
        source=Source(path),
        count=len(durations_ns),
        net_ns=sum(durations_ns),
        max_ns=max(durations_ns, default=0),
        max_start_ns=max_start_ns if durations_ns else 0,
        idle_count=idle_count,
        idle_ns=idle_ns,
        histogram=np.bincount(bucket_of(table), minlength=BUCKETS).astype(np.int64),
        triggers=triggers,
    )


def cpu(
    number: int | None,
    *sources: SourceSummary,
    max_single_ns: int | None = None,
    max_single_start_ns: int = START_NS,
    side: dict[str, tuple[SourceSummary, ...]] | None = None,
) -> CpuSummary:
    """A CPU with these sources, sorted as a Summarizer does; max single: of its sources."""
    longest_ns = max((one.max_ns for one in sources), default=0)
    single_ns = longest_ns if max_single_ns is None else max_single_ns
    return CpuSummary(
        cpu=number,
        noise_ns=sum(one.net_ns for one in sources),
        idle_ns=sum(one.idle_ns for one in sources),
        max_single_ns=single_ns,
        max_single_start_ns=max_single_start_ns if single_ns else 0,
        sources=tuple(sorted(sources, key=lambda one: (-one.net_ns, -one.idle_ns, one.source))),
        side=side or {},
    )


def side_figures(
    *,
    losses: Losses | None = None,
    overhead: Overhead | None = None,
    unavailable: tuple[str, ...] = (),
    offline: tuple[OfflineInterval, ...] = (),
    tick_stops: dict[int, TickStops] | None = None,
    hardware: tuple[HardwareFigure, ...] = (),
    unavailable_hardware: tuple[str, ...] = (),
    calibration: Calibration = NONE,
    isolation: Changes = (),
) -> PeriodCounters:
    """The side figures of a period; what is not given is none."""
    return (
        PeriodCounters()
        .with_value(LOSSES, losses or Losses())
        .with_value(OVERHEAD, overhead or Overhead(housekeeping="0"))
        .with_value(UNAVAILABLE, unavailable)
        .with_value(OFFLINE, offline)
        .with_value(TICK_STOPS, tick_stops or {})
        .with_value(HARDWARE, HardwareCounters(hardware, unavailable_hardware))
        .with_value(CALIBRATION, calibration)
        .with_value(ISOLATION, isolation)
    )


def summary(
    *cpus: CpuSummary,
    start_ns: int = START_NS,
    duration_ns: int = SECOND_NS,
    counters: PeriodCounters | None = None,
    tasks: dict[int, str] | None = None,
    waits: tuple[VictimWait, ...] = (),
) -> Summary:
    """The summary of these CPUs over a period."""
    return Summary(
        start_ns,
        start_ns + duration_ns,
        cpus,
        side_figures() if counters is None else counters,
        tasks or {},
        waits,
    )


def sample(total: Summary, interval: Summary | None = None, *, ended: str = "") -> Sample:
    """A sample; its interval is by default the whole period."""
    return Sample(total, interval or total, ended=ended)


class FakeFeed:
    """Hands out what it is given; waits when there is nothing, as a real feed does.

    An exception among the items is raised in its turn.
    """

    def __init__(
        self, *items: Sample | Exception, title: str = "CPUs 1-2", interval_ns: int = SECOND_NS
    ) -> None:
        self.title = title
        self.interval_ns = interval_ns
        self.resets = 0
        self.wakes = 0
        self.diagnosing = False
        self.telling_moments = False
        self.places: Mapping[int, CpuPlace] = {}
        self.interrupted = False
        self._items: queue.SimpleQueue[Sample | Exception | None] = queue.SimpleQueue()
        self.push(*items)

    def push(self, *items: Sample | Exception) -> None:
        """More to hand out."""
        for item in items:
            self._items.put(item)

    def next(self) -> Sample:
        item = self._items.get()
        if isinstance(item, Exception):
            raise item
        return item or sample(summary(duration_ns=1))

    def reset(self) -> None:
        self.resets += 1

    def diagnose(self, *, wanted: bool) -> None:
        self.diagnosing = wanted

    def want_moments(self, *, wanted: bool) -> None:
        self.telling_moments = wanted

    def wake(self) -> None:
        self.wakes += 1
        self._items.put(None)


def growing(cpus: Iterable[int], paths: Sequence[tuple[str, ...]], seconds: int) -> list[Sample]:
    """Samples of a run in which every source interrupts every CPU ever more often."""
    samples = []
    numbers = tuple(cpus)
    for second in range(1, seconds + 1):
        parts = []
        for length in (second, 1):
            parts.append(
                summary(
                    *(
                        cpu(
                            number,
                            *(
                                source(*path, durations_ns=[900 + 37 * at + number] * 3 * length)
                                for at, path in enumerate(paths)
                            ),
                        )
                        for number in numbers
                    ),
                    start_ns=START_NS + (second - length) * SECOND_NS,
                    duration_ns=length * SECOND_NS,
                )
            )
        samples.append(sample(*parts))
    return samples
