"""Compares two samples, source by source and in total."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noisetop.compare.sample import Durations, Sample, Table
from noisetop.compare.statistics import (
    PERMUTATIONS,
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
    counts_a, net_a = a.columns(labels)
    counts_b, net_b = b.columns(labels)
    rates = _per_second(a, a.total_counts, counts_a), _per_second(b, b.total_counts, counts_b)
    times = _per_second(a, a.total_ns, net_a), _per_second(b, b.total_ns, net_b)
    seen = (rates[0] > 0).sum(axis=0) + (rates[1] > 0).sum(axis=0)
    tested = seen >= MIN_BLOCKS_SEEN
    pairs = rates, times, beyond_count((rates[0], times[0]), (rates[1], times[1]))
    tests = len(pairs) * int(tested.sum())
    count = permutations or max(PERMUTATIONS, round(2 * tests / alpha))
    p = np.ones((len(pairs), len(tested)))
    if tests:
        raw = [permutation_p(x[:, tested], y[:, tested], count) for x, y in pairs]
        p[:, tested] = holm(np.concatenate(raw)).reshape(len(pairs), -1)
    figures = [_figures(*pair, p[i], alpha) for i, pair in enumerate((rates, times))]
    figures.append(_lengths(rates, times, p[2], alpha))
    rows = [
        Row(label, rate, time, length, _spread(a, b, label), bool(was_tested))
        for label, rate, time, length, was_tested in zip(
            [TOTAL, *labels], *figures, tested.tolist(), strict=True
        )
    ]
    ordered = sorted(rows[1:], key=lambda row: (-abs(row.time.b - row.time.a), row.label))
    return Comparison(a, b, alpha, rows[0], tuple(ordered))


def _per_second(sample: Sample, total: Table, columns: Table) -> Table:
    """Per second and CPU, the total in the first column."""
    table: Table = np.concatenate([total[:, None], columns], axis=1)
    return table * (_NS_PER_S / (sample.block_ns * sample.cpus))


def _figures(a: Table, b: Table, p: Table, alpha: float) -> list[Figure]:
    low, high = bootstrap_change(a, b)
    return [
        Figure(
            a=float(a[:, i].mean()),
            b=float(b[:, i].mean()),
            low=float(low[i]),
            high=float(high[i]),
            p=float(p[i]),
            significant=bool(p[i] <= alpha),
        )
        for i in range(a.shape[1])
    ]


def _lengths(
    rates: tuple[Table, Table], times: tuple[Table, Table], p: Table, alpha: float
) -> list[Figure]:
    low, high = bootstrap_mean_change((rates[0], times[0]), (rates[1], times[1]))
    a, b = (
        mean_durations(rate.sum(axis=0), time.sum(axis=0))
        for rate, time in zip(rates, times, strict=True)
    )
    return [
        Figure(
            a=float(a[i]),
            b=float(b[i]),
            low=float(low[i]),
            high=float(high[i]),
            p=float(p[i]),
            significant=bool(p[i] <= alpha),
        )
        for i in range(len(p))
    ]


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
