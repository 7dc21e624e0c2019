"""The dominant regular interruption, found from the gaps alone: on most machines the tick."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_NEIGHBOURS = 24
_MAX_GAPS = 20_000
_CANDIDATES = 24
_BIN_SHARE = 0.004
_TOLERANCE_SHARE = 0.005
_MIN_TEETH = 20
_MIN_HIT_SHARE = 0.5
_MIN_OVER_CHANCE = 2.0
_MIN_PERIOD_NS = 20_000


@dataclass(frozen=True, slots=True)
class Regular:
    """Something that comes back after ``period_ns`` again and again."""

    period_ns: float
    cost_ns: int
    """Median length of its gaps."""
    count: int
    hit_share: float
    """Part of the times at which it was due that it came."""


def find_regular(
    start_ns: npt.NDArray[np.int64], length_ns: npt.NDArray[np.int64]
) -> Regular | None:
    """The interruption that fills most gaps with one period; None when there is no such thing.

    Candidates are the distances between gaps and those that follow them, which occur often. A
    candidate's score is how many gaps have another one at that distance; of those that score
    alike the shortest is the period and the others are its multiples.
    """
    start, length = start_ns[:_MAX_GAPS], length_ns[:_MAX_GAPS]
    if len(start) < _MIN_TEETH:
        return None
    found = [_measure(start, length, period) for period in _candidates(start)]
    regular = [one for one in found if one is not None]
    if not regular:
        return None
    best = max(regular, key=lambda one: one.count)
    # Its multiples reach the same gaps.
    close = [one for one in regular if one.count >= 0.9 * best.count]
    return min(close, key=lambda one: one.period_ns)


def _candidates(start: npt.NDArray[np.int64]) -> list[float]:
    """Distances that occur often, most frequent first."""
    distances = [start[step:] - start[:-step] for step in range(1, min(_NEIGHBOURS, len(start)))]
    every = np.concatenate(distances)
    longest = (start[-1] - start[0]) / _MIN_TEETH
    every = every[(every >= _MIN_PERIOD_NS) & (every <= longest)]
    if not len(every):
        return []
    bins = np.round(np.log(every) / _BIN_SHARE).astype(np.int64)
    values, counts = np.unique(bins, return_counts=True)
    chosen = values[np.argsort(-counts, kind="stable")[:_CANDIDATES]]
    return [float(np.median(every[bins == value])) for value in chosen]


def _partners(start: npt.NDArray[np.int64], period: float) -> npt.NDArray[np.int64]:
    """For each gap the gap that comes closest to one period later, -1 where none is near."""
    due = start + round(period)
    after = np.searchsorted(start, due)
    before = np.maximum(after - 1, 0)
    after = np.minimum(after, len(start) - 1)
    nearest = np.where(np.abs(start[after] - due) < np.abs(start[before] - due), after, before)
    near = np.abs(start[nearest] - due) <= _TOLERANCE_SHARE * period
    return np.where(near, nearest, -1)


def _measure(
    start: npt.NDArray[np.int64], length: npt.NDArray[np.int64], rough: float
) -> Regular | None:
    partner = _partners(start, rough)
    if not (partner >= 0).any():
        return None
    period = float(np.median(start[partner[partner >= 0]] - start[partner >= 0]))
    partner = _partners(start, period)
    has = partner >= 0
    member = has.copy()
    member[partner[has]] = True
    span = float(start[-1] - start[0])
    teeth = span / period
    hits = int(has.sum())
    # What gaps at random moments would give: the chance that one lies within the tolerance.
    chance = min(len(start) * 2 * _TOLERANCE_SHARE * period / span, 1.0) * len(start)
    hit_share = min(int(member.sum()) / teeth, 1.0)
    if teeth < _MIN_TEETH or hit_share < _MIN_HIT_SHARE or hits < _MIN_OVER_CHANCE * chance:
        return None
    return Regular(period, int(np.median(length[member])), int(member.sum()), hit_share)
