"""The dashboard on this terminal, fed with made-up samples of any number of CPUs.

    python -m bench.made_up_feed --cpus 128 --sources 30

``python -m bench --part 5`` measures what that costs.
"""

from __future__ import annotations

import argparse
import random
import threading
from dataclasses import replace

import numpy as np

from noisetop.counters.overhead import OVERHEAD, Overhead
from noisetop.counters.period import PeriodCounters
from noisetop.counters.unavailable import UNAVAILABLE
from noisetop.events.interruption import Source
from noisetop.live.sample import Sample
from noisetop.machine.topology import CpuPlace
from noisetop.summary.summary import CpuSummary, SourceSummary, Summary
from noisetop.tables.histogram import BUCKETS, bucket_of

_START_NS = 1_000_000_000_000
_CLASSES = ("timer", "softirq", "thread", "irq", "ipi", "nmi")
_CYCLE = 20


class MadeUpFeed:
    """Every source of every CPU changes with each sample. Samples are made before the start."""

    def __init__(self, cpus: int, sources: int, interval_ns: int) -> None:
        self.title = f"CPUs 0-{cpus - 1}"
        self.interval_ns = interval_ns
        self.places: dict[int, CpuPlace] = {}
        self.interrupted = False
        self._random = random.Random(1)
        self._histogram = np.bincount(
            bucket_of(np.array([900, 1_100, 1_300, 5_000], np.uint64)), minlength=BUCKETS
        ).astype(np.int64)
        self._intervals = [self._interval(cpus, sources) for _ in range(_CYCLE)]
        self._totals = [self._total(self._intervals[: end + 1]) for end in range(_CYCLE)]
        self._at = 0
        self._woken = threading.Event()

    def _source(self, number: int) -> SourceSummary:
        name = _CLASSES[number % len(_CLASSES)]
        count = self._random.randrange(1, 2_000)
        return SourceSummary(
            Source((name, f"origin_{number % 7}", f"some_kernel_function_{number}")),
            count,
            count * self._random.randrange(500, 3_000),
            self._random.randrange(5_000, 90_000),
            _START_NS + self._random.randrange(self.interval_ns),
            count // 3,
            count * 100,
            self._histogram,
        )

    def _interval(self, cpus: int, sources: int) -> Summary:
        rows = []
        for number in range(cpus):
            parts = tuple(self._source(one) for one in range(sources))
            noise_ns = sum(one.net_ns for one in parts)
            rows.append(CpuSummary(number, noise_ns, noise_ns // 9, 90_000, _START_NS, parts))
        overhead = Overhead(9_000_000, 40, 220.0, 10_000, "0")
        counters = PeriodCounters().with_value(OVERHEAD, overhead)
        counters = counters.with_value(UNAVAILABLE, ("thermal",))
        return Summary(_START_NS, _START_NS + self.interval_ns, tuple(rows), counters)

    def _total(self, intervals: list[Summary]) -> Summary:
        cpus = []
        for same in zip(*(one.cpus for one in intervals), strict=True):
            sources = tuple(
                replace(
                    parts[0],
                    count=sum(one.count for one in parts),
                    net_ns=sum(one.net_ns for one in parts),
                    max_ns=max(one.max_ns for one in parts),
                )
                for parts in zip(*(one.sources for one in same), strict=True)
            )
            noise_ns = sum(one.net_ns for one in sources)
            cpus.append(replace(same[0], noise_ns=noise_ns, sources=sources))
        end_ns = _START_NS + len(intervals) * self.interval_ns
        return replace(intervals[0], end_ns=end_ns, cpus=tuple(cpus))

    def next(self) -> Sample:
        self._woken.wait(self.interval_ns / 1e9)
        self._woken.clear()
        self._at = (self._at + 1) % _CYCLE
        return Sample(self._totals[self._at], self._intervals[self._at])

    def reset(self) -> None:
        self._at = 0

    def diagnose(self, *, wanted: bool) -> None:
        """It has none."""

    def want_moments(self, *, wanted: bool) -> None:
        """It has none."""

    def wake(self) -> None:
        self._woken.set()


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cpus", type=int, default=2)
    parser.add_argument("--sources", type=int, default=40)
    parser.add_argument("--interval", type=float, default=1.0)
    args = parser.parse_args()
    from noisetop.tui.app import run_dashboard

    run_dashboard(MadeUpFeed(args.cpus, args.sources, int(args.interval * 1e9)))


if __name__ == "__main__":
    main()
