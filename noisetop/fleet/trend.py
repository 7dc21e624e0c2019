"""Since when a source takes more or less time: the day on which the figures of hosts changed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from noisetop.compare.comparison import TOTAL
from noisetop.compare.statistics import holm
from noisetop.fleet.rates import Numbers, Rates, Table

FEWEST_DAYS = 4
_FLOOR_NS = 1_000
"""Per second and CPU: below this nothing that happens matters."""
_MOST_UNITS = 50
"""More hosts are put into so many groups, each of which is permuted as one."""
_PERMUTATIONS = 2_000
_ENOUGH = 100
"""Permutations that differ as much as the days do: such a source is not looked at any further
(Besag, Clifford 1991)."""
_CELLS = 1 << 16
"""Of series that are permuted at a time; more would leave the cache of a CPU."""
_SEED = 20_240_601
"""Fixed, so that the same fleet gives the same answer every time."""


@dataclass(frozen=True, slots=True)
class Trend:
    """A source over the days. Times are ns per second and CPU, means over hosts."""

    source: str
    since: str
    """First day of the later level."""
    before_ns: float
    after_ns: float
    p: float
    """Adjusted for the number of sources."""
    significant: bool
    by_day: tuple[tuple[str, float], ...]
    """All days."""


def trends(rates: Rates[tuple[str, str]], alpha: float) -> list[Trend]:
    """Each source, and all together, by day; units are (day, host). Significant changes first, then
    the largest ones; none where there are fewer than FEWEST_DAYS days.

    Days of a host are permuted: the test is of the largest difference over all days on which the
    change could have been, so that it is no matter of luck which day is looked at.
    """
    days = sorted({day for day, _ in rates.units})
    if len(days) < FEWEST_DAYS:
        return []
    per_s = np.concatenate([rates.per_s.sum(axis=1, keepdims=True), rates.per_s], axis=1)
    series = _series(rates, days, np.log(per_s + _FLOOR_NS))
    observed, split = _largest(series)
    rounds = max(_PERMUTATIONS, round(2 * per_s.shape[1] / alpha))
    p = holm(_permuted_p(series, observed, rounds))
    rows = np.searchsorted(days, [day for day, _ in rates.units])
    found = []
    for at, source in enumerate([TOTAL, *rates.sources]):
        later = rows >= split[at]
        means = [float(per_s[rows == day, at].mean()) for day in range(len(days))]
        found.append(
            Trend(
                source,
                days[int(split[at])],
                float(per_s[~later, at].mean()),
                float(per_s[later, at].mean()),
                float(p[at]),
                bool(p[at] <= alpha),
                tuple(zip(days, means, strict=True)),
            )
        )
    return sorted(
        found, key=lambda t: (not t.significant, -abs(t.after_ns - t.before_ns), t.source)
    )


def _series(rates: Rates[tuple[str, str]], days: list[str], logs: Table) -> Table:
    """By unit, day and source, without the mean of each host; NaN where it has no run that day."""
    hosts = sorted({host for _, host in rates.units})
    table = np.full((len(hosts), len(days), logs.shape[1]), np.nan)
    row = {host: at for at, host in enumerate(hosts)}
    column = {day: at for at, day in enumerate(days)}
    for at, (day, host) in enumerate(rates.units):
        table[row[host], column[day]] = logs[at]
    table -= np.nanmean(table, axis=1, keepdims=True)
    if len(hosts) <= _MOST_UNITS:
        return table
    parts = []
    for part in np.array_split(table, _MOST_UNITS):
        known = ~np.isnan(part)
        sums = np.where(known, part, 0).sum(axis=0)
        parts.append(np.where(known.any(axis=0), sums / np.maximum(known.sum(axis=0), 1), np.nan))
    return np.stack(parts)


def _largest(series: Table) -> tuple[Table, Numbers]:
    """Of each source the largest Welch t between all earlier and all later days, and the first of
    the later days. Series may have axes before those of unit, day and source."""
    known = ~np.isnan(series)
    filled = np.where(known, series, 0)
    count = known.sum(axis=-3).cumsum(axis=-2).astype(np.float64)
    sums, squares = (one.sum(axis=-3).cumsum(axis=-2) for one in (filled, filled**2))
    before, first = count[..., :-1, :], sums[..., :-1, :]
    after, last = count[..., -1:, :] - before, sums[..., -1:, :] - first
    variance = np.zeros_like(first)
    for n, total, square in (
        (before, first, squares[..., :-1, :]),
        (after, last, squares[..., -1:, :] - squares[..., :-1, :]),
    ):
        deviations = np.maximum(square - total**2 / np.maximum(n, 1), 0)
        variance += deviations / (np.maximum(n - 1, 1) * np.maximum(n, 1))
    difference = np.abs(last / np.maximum(after, 1) - first / np.maximum(before, 1))
    enough = (before > 1) & (after > 1)
    t = np.where(enough, difference / np.sqrt(np.maximum(variance, 1e-12)), 0)
    split: Numbers = t.argmax(axis=-2) + 1
    return t.max(axis=-2), split


def _permuted_p(series: Table, observed: Table, rounds: int) -> Table:
    """How often days in another order differ as much; what a host lacks stays where it is."""
    rng = np.random.default_rng(_SEED)
    missing = np.isnan(series[:, :, 0])
    places = np.arange(series.shape[1])
    reached, drawn = np.zeros(len(observed)), np.zeros(len(observed))
    done, undecided = 0, np.arange(len(observed))
    while done < rounds and len(undecided):
        part = series[..., undecided]
        count = min(max(1, _CELLS // part.size), rounds - done)
        order = _shuffled(rng, missing, places, count)
        shuffled = np.take_along_axis(part[None], order[..., None], axis=2)
        most = observed[undecided] * (1 - 1e-9)
        reached[undecided] += (_largest(shuffled)[0] >= most).sum(axis=0)
        drawn[undecided] += count
        done += count
        undecided = undecided[reached[undecided] < _ENOUGH]
    p: Table = (1 + reached) / (1 + drawn)
    return p


def _shuffled(
    rng: np.random.Generator, missing: npt.NDArray[np.bool_], places: Numbers, count: int
) -> Numbers:
    """``count`` times, of each unit, an order of its days in which those that it lacks have their
    own place."""
    drawn = rng.random((count, *missing.shape))
    known_first = np.argsort(np.where(missing, 2.0, 0.0) + drawn * ~missing + 0, axis=-1)
    targets = np.argsort(np.where(missing, len(places), 0) + places, axis=1)
    order = np.empty_like(known_first)
    np.put_along_axis(order, np.broadcast_to(targets, order.shape), known_first, axis=-1)
    return order
