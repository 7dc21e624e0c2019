"""Histograms of durations with a bounded relative error.

Buckets are logarithmic with 16 linear steps per octave, so a bucket's upper edge lies at most
6.25 % above any duration in it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from noisetop import _tables

BUCKETS = _tables.BUCKETS
_STEPS = 1 << _tables.STEP_BITS

Counts = npt.NDArray[np.int64]


def bucket_of(durations_ns: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    """Index of the bucket of each duration."""
    found = np.empty(len(durations_ns), np.int64)
    _tables.buckets(durations_ns, found)
    return found


def edges_ns() -> npt.NDArray[np.int64]:
    """Lower edges of all buckets, and at the end the upper edge of the last."""
    bucket = np.arange(BUCKETS + 1)
    octave = np.maximum(bucket // _STEPS - 1, 0)
    edges: npt.NDArray[np.int64] = (bucket - octave * _STEPS) << octave
    return edges


_EDGES_NS = edges_ns()


def percentile_ns(counts: Counts, share: float, max_ns: int) -> int:
    """The smallest duration that at least ``share`` of all lie at or below: the upper edge of its
    bucket, but never above the largest duration seen. 0 when there are none."""
    total = int(counts.sum())
    if not total:
        return 0
    rank = max(int(np.ceil(share * total)), 1)
    bucket = int(np.searchsorted(np.cumsum(counts), rank))
    return min(int(_EDGES_NS[bucket + 1]) - 1, max_ns)


def by_octave(counts: Counts) -> Counts:
    """Counts by the power of two at or below the duration, by its exponent; the first begins at
    0."""
    lower = np.maximum(_EDGES_NS[:-1], 1)
    octaves = np.frexp(lower.astype(np.float64))[1] - 1
    return np.bincount(octaves, counts).astype(np.int64)
