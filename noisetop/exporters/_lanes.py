"""Which slices of a track may lie on one line: those that are apart or wholly inside each other.

Frames of one CPU nest by construction, but for what clocks disagree on; a viewer drops slices that
cross, so those get a line of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

LANES = 10
"""Lines of a track; what still crosses on the last one stays there."""
_REMEMBERED = 64
_WINDOW = 4096

Array = npt.NDArray[np.int64]


@dataclass(slots=True)
class _Slices:
    """Slices of any tracks, in the order in which they are written."""

    track: Array = field(default_factory=lambda: np.empty(0, np.int64))
    start: Array = field(default_factory=lambda: np.empty(0, np.int64))
    end: Array = field(default_factory=lambda: np.empty(0, np.int64))

    def __len__(self) -> int:
        return len(self.track)

    def take(self, which: npt.NDArray[np.generic]) -> _Slices:
        return _Slices(self.track[which], self.start[which], self.end[which])

    def after(self, before: _Slices) -> _Slices:
        return _Slices(
            np.concatenate([before.track, self.track]),
            np.concatenate([before.start, self.start]),
            np.concatenate([before.end, self.end]),
        )


@dataclass(slots=True)
class LaneChooser:
    """Gives each slice its line; remembers the last slices of each line between calls."""

    _last: list[_Slices] = field(default_factory=list)

    def lanes(self, track: Array, start_ns: Array, end_ns: Array) -> npt.NDArray[np.uint8]:
        """The line of each slice on its track, 0 for nearly all."""
        lane = np.zeros(len(track), np.uint8)
        places = np.arange(len(track))
        slices = _Slices(track, start_ns, end_ns)
        for number in range(LANES):
            if not len(slices):
                break
            if number == len(self._last):
                self._last.append(_Slices())
            before = self._last[number]
            joined = slices.after(before) if len(before) else slices
            order = _by_end(joined)
            crossing = np.zeros(len(joined), bool)
            crossing[order[_crossing(joined.take(order))]] = True
            rest = crossing[len(before) :] | _cross_any(slices, before, crossing[: len(before)])
            kept = order[np.append(np.ones(len(before), bool), ~rest)[order]]
            self._last[number] = joined.take(_newest(kept, joined.track[kept]))
            if number + 1 < LANES:
                lane[places[rest]] = number + 1
            slices, places = slices.take(rest), places[rest]
        return lane


def _cross_any(
    slices: _Slices, before: _Slices, suspects: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """Those that come late: they begin before a slice that is written already, and end in it."""
    late = np.zeros(len(slices), bool)
    for at in np.flatnonzero(suspects):
        begins, ends = before.start[at], before.end[at]
        late |= (
            (slices.track == before.track[at])
            & (slices.start < begins)
            & (slices.end > begins)
            & (slices.end < ends)
        )
    return late


def _by_end(slices: _Slices) -> Array:
    """Order by track, in it by end, of equal ends the inner first."""
    order = np.argsort(slices.track.astype(np.uint16), kind="stable")
    track, end, start = slices.track[order], slices.end[order], slices.start[order]
    disorder = (end[1:] < end[:-1]) | ((end[1:] == end[:-1]) & (start[1:] > start[:-1]))
    if (disorder & (track[1:] == track[:-1])).any():
        return np.lexsort((-slices.start, slices.end, slices.track))
    return order


def _crossing(slices: _Slices) -> Array:
    """Those that begin inside an earlier one and end behind it, or begin together with one that is
    written before them although it lies inside."""
    same = slices.track[1:] == slices.track[:-1]
    suspects = np.flatnonzero(same & (slices.end[:-1] > slices.start[1:])) + 1
    if not len(suspects):
        return suspects
    start, end = _small(slices.start, slices.end)
    # One rising sequence of ends over all tracks.
    shift = np.append(0, np.cumsum(~same)) * (int(end.max()) + 1)
    first = np.searchsorted(end + shift, (start + shift)[suspects], side="right")
    first = np.maximum(first, suspects - _WINDOW)
    pairs = np.stack([first, suspects], axis=1).ravel()
    earliest = np.minimum.reduceat(slices.start, pairs)[::2]
    return suspects[earliest <= slices.start[suspects]]


def _small(start: Array, end: Array) -> tuple[Array, Array]:
    """The same moments counted from the first one, or just ranked where they lie too far apart to
    be multiplied."""
    base = min(int(start.min()), int(end.min()))
    if (int(end.max()) - base + 1) * len(start) < 1 << 62:
        return start - base, end - base
    ranks = np.unique(np.concatenate([start, end]), return_inverse=True)[1].reshape(2, -1)
    return ranks[0], ranks[1]


def _newest(order: Array, track: Array) -> Array:
    """The last few slices of each track."""
    last = np.flatnonzero(np.append(track[1:] != track[:-1], True))
    from_end = np.repeat(last, np.diff(last, prepend=-1)) - np.arange(len(track))
    return np.sort(order[from_end < _REMEMBERED])
