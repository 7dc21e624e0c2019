"""Tests of two samples of blocks, without an assumption about how their values are distributed."""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

Table = npt.NDArray[np.float64]
Vector = npt.NDArray[np.float64]

PERMUTATIONS = 20_000
RESAMPLES = 2_000
_CHUNK = 2_000
"""Permutations at a time, which bounds the memory."""
_SEED = 20_240_601
"""Fixed, so that the same two files give the same answer every time."""


def permutation_p(a: Table, b: Table, permutations: int = PERMUTATIONS) -> Vector:
    """Two-sided p-value of each column: how often do blocks that are dealt out anew to both sides
    differ as much as these do?

    The statistic is Welch's t, which keeps the test right when the spreads differ (Janssen 1997).
    The identity counts as one of the permutations, so that no p-value is 0 (Phipson, Smyth 2010).
    """
    pooled = np.concatenate([a, b])
    centred = pooled - pooled.mean(axis=0)
    scale = np.abs(centred).max(axis=0)
    values = centred / np.where(scale > 0, scale, 1.0)
    observed = np.abs(_welch(_side(len(a), len(pooled)), values))[0]
    rng = np.random.default_rng(_SEED)
    reached = np.zeros(values.shape[1])
    for done in range(0, permutations, _CHUNK):
        rows = min(_CHUNK, permutations - done)
        drawn = rng.random((rows, len(pooled)))
        last = np.partition(drawn, len(a) - 1, axis=1)[:, len(a) - 1, None]
        sides = (drawn <= last).astype(np.float64)
        reached += (np.abs(_welch(sides, values)) >= observed * (1 - 1e-9)).sum(axis=0)
    p: Vector = (1 + reached) / (1 + permutations)
    return p


def _side(first: int, size: int) -> Table:
    side = np.zeros((1, size))
    side[0, :first] = 1
    return side


def _welch(sides: Table, values: Table) -> Table:
    """Welch's t for each row of ``sides`` (1: first sample) and each column of ``values``."""
    na = sides.sum(axis=1, keepdims=True)
    nb = sides.shape[1] - na
    squares = values * values
    sum_a, square_a = sides @ values, sides @ squares
    sum_b, square_b = values.sum(axis=0) - sum_a, squares.sum(axis=0) - square_a
    variance_a = np.maximum(square_a / na - (sum_a / na) ** 2, 0) / (na - 1)
    variance_b = np.maximum(square_b / nb - (sum_b / nb) ** 2, 0) / (nb - 1)
    spread = np.sqrt(variance_a + variance_b)
    t: Table = (sum_b / nb - sum_a / na) / np.maximum(spread, 1e-12)
    return t


def holm(p: Vector) -> Vector:
    """Adjusted p-values that control the family-wise error rate (Holm 1979)."""
    order = np.argsort(p, kind="stable")
    factors = np.arange(len(p), 0, -1)
    adjusted = np.minimum(np.maximum.accumulate(p[order] * factors), 1.0)
    result = np.empty(len(p))
    result[order] = adjusted
    return result


def bootstrap_change(a: Table, b: Table, level: float = 0.95) -> tuple[Vector, Vector]:
    """Ends of the percentile interval of mean(b) - mean(a), per column, over resampled blocks."""
    weights_b, weights_a = _resamples(len(b), len(a))
    difference = weights_b @ b / len(b) - weights_a @ a / len(a)
    tail = 100 * (1 - level) / 2
    low, high = np.percentile(difference, [tail, 100 - tail], axis=0)
    return low, high


def bootstrap_mean_change(
    a: tuple[Table, Table], b: tuple[Table, Table], level: float = 0.95
) -> tuple[Vector, Vector]:
    """The same for mean durations: each side gives counts and times per block."""
    means = [
        mean_durations(weights @ counts, weights @ times)
        for weights, (counts, times) in zip(_resamples(len(b[0]), len(a[0])), (b, a), strict=True)
    ]
    tail = 100 * (1 - level) / 2
    low, high = np.percentile(means[0] - means[1], [tail, 100 - tail], axis=0)
    return low, high


def mean_durations(counts: Table, times: Table) -> Table:
    """Time per interruption; 0 where there was none."""
    means: Table = np.divide(times, counts, out=np.zeros_like(times), where=counts > 0)
    return means


def beyond_count(a: tuple[Table, Table], b: tuple[Table, Table]) -> tuple[Table, Table]:
    """What the time of each block exceeds, given how many interruptions it holds, at the mean
    duration of both sides together.

    Its mean is 0 on both sides unless interruptions became longer or shorter, so a test of it is a
    test of durations that their number, however it varies, does not disturb (a ratio estimator,
    Cochran 1977, chapter 6).
    """
    counts = a[0].sum(axis=0) + b[0].sum(axis=0)
    mean = mean_durations(counts, a[1].sum(axis=0) + b[1].sum(axis=0))
    return a[1] - a[0] * mean, b[1] - b[0] * mean


# The seed is fixed, so all intervals of a comparison are over the same blocks: drawing them takes
# longer than all else.
@functools.lru_cache(maxsize=1)
def _resamples(*blocks: int) -> tuple[Table, ...]:
    """How often each block of each sample is drawn, a row for each resample."""
    rng = np.random.default_rng(_SEED)
    return tuple(
        rng.multinomial(count, np.full(count, 1 / count), RESAMPLES).astype(np.float64)
        for count in blocks
    )
