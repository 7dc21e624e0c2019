"""Gaps that a spinning thread saw, and the figures that samplers give about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Times = npt.NDArray[np.int64]

NS_PER_HOUR = 3_600_000_000_000
_MANTISSAS = (100, 140, 200, 300, 400, 600, 800)
BUCKET_EDGES_NS = (*(m * 10**power for power in range(6) for m in _MANTISSAS), 100_000_000)
"""100 ns to 100 ms, with the steps 2, 3, 4, 6, 8, 10, 14, 20 µs that jitter samplers print."""

PERCENTILES = (0.5, 0.9, 0.99, 0.999, 0.9999)


@dataclass(frozen=True, slots=True)
class Gaps:
    """Gaps of one thread in the order of time; they do not overlap."""

    start_ns: Times
    """CLOCK_MONOTONIC."""
    end_ns: Times
    active_ns: int
    """How long the thread spun, gaps included and sleeps of a duty cycle not."""
    unstored_count: int = 0
    """Gaps that found no room in memory."""
    unstored_ns: int = 0

    @property
    def length_ns(self) -> Times:
        """Length of each stored gap."""
        return self.end_ns - self.start_ns

    @property
    def count(self) -> int:
        """All gaps, also those that were not stored."""
        return len(self.start_ns) + self.unstored_count

    @property
    def lost_ns(self) -> int:
        """Time in all gaps, also in those that were not stored."""
        return int(self.length_ns.sum()) + self.unstored_ns


@dataclass(frozen=True, slots=True)
class Bucket:
    """Gaps of a range of lengths; ``to_ns`` 0: no upper end."""

    from_ns: int
    to_ns: int
    count: int
    per_cpu_hour: float


def percentiles_ns(length_ns: Times, shares: Sequence[float] = PERCENTILES) -> tuple[int, ...]:
    """Exact percentiles: the smallest gap that at least that share lies at or below."""
    if not len(length_ns):
        return tuple(0 for _ in shares)
    ordered = np.sort(length_ns)
    ranks = [min(max(int(np.ceil(share * len(ordered))), 1), len(ordered)) for share in shares]
    return tuple(int(ordered[rank - 1]) for rank in ranks)


def buckets_per_hour(length_ns: Times, active_ns: int) -> tuple[Bucket, ...]:
    """Gaps per CPU-hour in the buckets of BUCKET_EDGES_NS, with what lies below and above."""
    edges = np.array([0, *BUCKET_EDGES_NS], np.int64)
    place = np.searchsorted(edges, length_ns, "right") - 1
    counts = np.bincount(place, minlength=len(edges))
    scale = NS_PER_HOUR / active_ns if active_ns else 0.0
    ends = [*edges[1:].tolist(), 0]
    return tuple(
        Bucket(int(start), int(end), int(count), float(count) * scale)
        for start, end, count in zip(edges.tolist(), ends, counts.tolist(), strict=True)
    )


@dataclass(frozen=True, slots=True)
class SpinPeriod:
    """A period in which the thread ran undisturbed (``active``) or did not run."""

    active: bool
    start_ns: int
    length_ns: int


def spin_periods(gaps: Gaps, first_ns: int, last_ns: int, limit: int) -> tuple[SpinPeriod, ...]:
    """Alternating active and inactive periods from the beginning, at most ``limit`` of them."""
    found: list[SpinPeriod] = []
    at = first_ns
    for start, end in zip(gaps.start_ns.tolist(), gaps.end_ns.tolist(), strict=True):
        if len(found) >= limit:
            return tuple(found[:limit])
        if start > at:
            found.append(SpinPeriod(True, at, start - at))
        found.append(SpinPeriod(False, start, end - start))
        at = end
    if last_ns > at:
        found.append(SpinPeriod(True, at, last_ns - at))
    return tuple(found[:limit])
