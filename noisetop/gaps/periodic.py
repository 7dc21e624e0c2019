"""The dominant regular interruption, found from the gaps alone: on most machines the tick."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Times = npt.NDArray[np.int64]

_NEIGHBOURS = 24
_MAX_GAPS = 20_000
_CANDIDATES = 32
_BIN_SHARE = 0.004
_TOLERANCE_SHARE = 0.005
_MIN_HITS = 20
_MIN_HIT_SHARE = 0.6
_MIN_OF_BEST = 0.4
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
    """How often it came when it was due and could be seen."""


def find_regular(start_ns: Times, length_ns: Times) -> Regular | None:
    """The interruption that fills most gaps with one period; None when there is no such thing.

    Candidates are the distances between a gap and those that follow it, which occur often. A
    candidate's score is how many gaps have another one at that distance; of those that score
    alike the shortest is the period and the others are its multiples.
    """
    start, end = start_ns[:_MAX_GAPS], (start_ns + length_ns)[:_MAX_GAPS]
    if len(start) < _MIN_HITS:
        return None
    found = [_measure(start, end, period) for period in _candidates(start)]
    regular = [one for one in found if one is not None]
    if not regular:
        return None
    most = max(one.count for one in regular)
    close = [one for one in regular if one.count >= _MIN_OF_BEST * most]
    return min(close, key=lambda one: one.period_ns)


def is_on_beat(start_ns: Times, regular: Regular) -> npt.NDArray[np.bool_]:
    """Which gaps have another one a period before or after them."""
    return _members(_partners(start_ns, regular.period_ns))


def _members(partner: Times) -> npt.NDArray[np.bool_]:
    hit = partner >= 0
    member = hit.copy()
    member[partner[hit]] = True
    return member


def _candidates(start: Times) -> list[float]:
    """Distances that occur often, most frequent first."""
    distances = [start[step:] - start[:-step] for step in range(1, min(_NEIGHBOURS, len(start)))]
    every = np.concatenate(distances)
    longest = (start[-1] - start[0]) / _MIN_HITS
    every = every[(every >= _MIN_PERIOD_NS) & (every <= longest)]
    if not len(every):
        return []
    bins = np.round(np.log(every) / _BIN_SHARE).astype(np.int64)
    values, counts = np.unique(bins, return_counts=True)
    chosen = values[np.argsort(-counts, kind="stable")[:_CANDIDATES]]
    return [float(np.median(every[bins == value])) for value in chosen]


def _partners(start: Times, period: float) -> Times:
    """For each gap the gap that comes closest to one period later, -1 where none is near."""
    due = start + round(period)
    after = np.searchsorted(start, due)
    before = np.maximum(after - 1, 0)
    after = np.minimum(after, len(start) - 1)
    nearest = np.where(np.abs(start[after] - due) < np.abs(start[before] - due), after, before)
    near = np.abs(start[nearest] - due) <= _TOLERANCE_SHARE * period
    return np.where(near, nearest, -1)


def _measure(start: Times, end: Times, rough: float) -> Regular | None:
    partner = _partners(start, rough)
    if not (partner >= 0).any():
        return None
    period = float(np.median(start[partner[partner >= 0]] - start[partner >= 0]))
    partner = _partners(start, period)
    hit = partner >= 0
    member = _members(partner)
    hits = int(hit.sum())
    # While the thread does not run, and after the last gap, nothing can be seen to come.
    due = start + round(period)
    around = np.maximum(np.searchsorted(start, due, "right") - 1, 0)
    hidden = (due < end[around]) | (due > start[-1])
    misses = int((member & ~hit & ~hidden).sum())
    # What gaps at random moments would give: one of them lies within the tolerance by chance.
    density = len(start) / float(start[-1] - start[0])
    chance = min(2 * _TOLERANCE_SHARE * period * density, 1.0) * len(start)
    hit_share = hits / max(hits + misses, 1)
    if hits < max(_MIN_HITS, _MIN_OVER_CHANCE * chance) or hit_share < _MIN_HIT_SHARE:
        return None
    return Regular(period, int(np.median((end - start)[member])), int(member.sum()), hit_share)
