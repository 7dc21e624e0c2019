"""Compares two samples, source by source and in total."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from noisetop.compare.sample import Durations, Sample, Table
from noisetop.compare.statistics import (
    PERMUTATIONS,
    Vector,
    beyond_count,
    bootstrap_change,
    bootstrap_mean_change,
    holm,
    mean_durations,
    permutation_p,
)

ALPHA = 0.01
TOTAL = "total"
_NS_PER_S = 1_000_000_000
MIN_BLOCKS_SEEN = 8
"""A source that occurs in fewer blocks can reach no significance, whatever it did."""


@dataclass(frozen=True, slots=True)
class Figure:
    """Rate, time or mean length of one source in both runs."""

    a: float
    b: float
    low: float
    """Interval of b - a that holds the true change with 95 %."""
    high: float
    p: float
    """Adjusted for the number of tests; 1 where none was made."""
    significant: bool

    @property
    def ratio(self) -> float | None:
        """b / a; None when there was nothing in a."""
        return self.b / self.a if self.a else None


@dataclass(frozen=True, slots=True)
class Spread:
    """Figures about single interruptions, for A and B."""

    deviation_ns: tuple[float, float]
    median_ns: tuple[int, int]
    max_ns: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Row:
    """One source. Rates are per second and CPU, times in ns per second and CPU."""

    label: str
    rate: Figure
    time: Figure
    length: Figure
    """Mean of single interruptions, ns."""
    spread: Spread | None
    tested: bool
    """False: too rare to tell."""

    @property
    def changed(self) -> bool:
        """Whether rate, time or length changed significantly."""
        return self.rate.significant or self.time.significant or self.length.significant


@dataclass(frozen=True, slots=True)
class Comparison:
    """The answer."""

    a: Sample
    b: Sample
    alpha: float
    total: Row
    rows: tuple[Row, ...]
    """Largest change of time first."""

    @property
    def changed(self) -> tuple[Row, ...]:
        """Rows with a significant change."""
        return tuple(row for row in self.rows if row.changed)


def compare(
    a: Sample, b: Sample, alpha: float = ALPHA, permutations: int | None = None
) -> Comparison:
    """Compares all sources; ``alpha`` is the family-wise error rate."""
    labels = sorted({*a.labels, *b.labels})
    one, other = _per_second(a, labels), _per_second(b, labels)
    tested = one.seen + other.seen >= MIN_BLOCKS_SEEN
    pairs = (
        (one.rates, other.rates),
        (one.times, other.times),
        beyond_count((one.rates, one.times), (other.rates, other.times)),
    )
    tests = len(pairs) * int(tested.sum())
    count = permutations or max(PERMUTATIONS, round(2 * tests / alpha))
    p = np.ones((len(pairs), len(tested)))
    if tests:
        first, second = (
            np.concatenate([table[:, tested] for table in side], axis=1)
            for side in zip(*pairs, strict=True)
        )
        p[:, tested] = holm(permutation_p(first, second, count)).reshape(len(pairs), -1)
    figures = _figures(one, other, p, alpha)
    rows = [
        Row(label, rate, time, length, _spread(a, b, label), bool(was_tested))
        for label, rate, time, length, was_tested in zip(
            [TOTAL, *labels], *figures, tested.tolist(), strict=True
        )
    ]
    ordered = sorted(rows[1:], key=lambda row: (-abs(row.time.b - row.time.a), row.label))
    return Comparison(a, b, alpha, rows[0], tuple(ordered))


@dataclass(frozen=True, slots=True)
class _PerSecond:
    """One run per second and CPU, the total in the first column."""

    rates: Table
    """Of the blocks that the sample holds."""
    times: Table
    mean_rates: Vector
    """Of the whole run."""
    mean_times: Vector

    @property
    def seen(self) -> Vector:
        """Blocks in which each source occurs."""
        found: Vector = (self.rates > 0).sum(axis=0)
        return found


def _per_second(sample: Sample, labels: Sequence[str]) -> _PerSecond:
    per_block = _NS_PER_S / (sample.block_ns * sample.cpus)
    counts, net_ns = sample.columns(labels)
    sum_counts, sum_ns = sample.sums(labels)
    return _PerSecond(
        rates=counts * per_block,
        times=net_ns * per_block,
        mean_rates=sum_counts * (per_block / sample.blocks),
        mean_times=sum_ns * (per_block / sample.blocks),
    )


def _figures(one: _PerSecond, other: _PerSecond, p: Table, alpha: float) -> list[list[Figure]]:
    """Rate, time and mean length of each column."""
    sides = (one.rates, one.times), (other.rates, other.times)
    intervals = (
        bootstrap_change(one.rates, other.rates),
        bootstrap_change(one.times, other.times),
        bootstrap_mean_change(*sides),
    )
    means = [
        (side.mean_rates, side.mean_times, mean_durations(side.mean_rates, side.mean_times))
        for side in (one, other)
    ]
    in_blocks = [
        (
            rates.mean(axis=0),
            times.mean(axis=0),
            mean_durations(rates.sum(axis=0), times.sum(axis=0)),
        )
        for rates, times in sides
    ]
    found = []
    for a, b, blocks_a, blocks_b, ends, chance in zip(
        *means, *in_blocks, intervals, p, strict=True
    ):
        # An interval is around the change in the blocks: it widens to that of the whole runs.
        off = (b - a) - (blocks_b - blocks_a)
        low, high = ends[0] + np.minimum(off, 0), ends[1] + np.maximum(off, 0)
        rows = zip(*(x.tolist() for x in (a, b, low, high, chance, chance <= alpha)), strict=True)
        found.append([Figure(*row) for row in rows])
    return found


def _spread(a: Sample, b: Sample, label: str) -> Spread | None:
    one: Durations | None
    other: Durations | None
    if label == TOTAL:
        one, other = a.all_durations, b.all_durations
    else:
        one, other = a.durations.get(label), b.durations.get(label)
    if not one or not other:
        return None
    return Spread(
        deviation_ns=(one.deviation_ns, other.deviation_ns),
        median_ns=(one.median_ns, other.median_ns),
        max_ns=(one.max_ns, other.max_ns),
    )
