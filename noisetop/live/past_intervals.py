"""The latest intervals of a running trace, in bounded memory, to look at once more."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from noisetop.summary.summary import SourceSummary, Summary
from noisetop.tables.histogram import BUCKETS, Counts

_BYTES = 60 << 20
_INTERVALS = 600
_PACKED_UP_TO = 500
"""Sources of an interval whose histograms are packed; of more that would cost too much time."""
_OF_SOURCE, _OF_HISTOGRAM, _OF_BUCKET = 1_000, 8 * BUCKETS, 10
"""Bytes, about: a source with its triggers, a histogram, a bucket of a packed one."""
_NO_COUNTS: Counts = np.zeros(0, np.int64)
Filled = tuple[npt.NDArray[np.uint16], Counts]
"""The buckets of a histogram that are not 0, and their counts."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """One interval."""

    number: int
    summary: Summary
    """Without its histograms where they are packed."""
    packed: tuple[Filled, ...]
    """In the order of the sources."""
    size: int


@dataclass(slots=True)
class PastIntervals:
    """By number, as in noisetop.live.noise_columns; the oldest go."""

    _kept: deque[_Kept] = field(default_factory=deque)
    _bytes: int = 0

    def put(self, number: int, interval: Summary) -> None:
        """The newest interval."""
        kept = _kept(number, interval)
        self._kept.append(kept)
        self._bytes += kept.size
        while len(self._kept) > _INTERVALS or (len(self._kept) > 1 and self._bytes > _BYTES):
            self._bytes -= self._kept.popleft().size

    def get(self, number: int) -> Summary | None:
        """None: it is gone."""
        found = next((one for one in self._kept if one.number == number), None)
        if found is None or not found.packed:
            return found.summary if found else None
        packed = iter(found.packed)
        return _with_histograms(found.summary, lambda _: _unpacked(next(packed)))

    @property
    def first(self) -> int:
        """Number of the oldest that is kept; -1: none is."""
        return self._kept[0].number if self._kept else -1

    def clear(self) -> None:
        """Forgets all."""
        self._kept.clear()
        self._bytes = 0


def _kept(number: int, interval: Summary) -> _Kept:
    sources = list(_sources(interval))
    if len(sources) > _PACKED_UP_TO:
        return _Kept(number, interval, (), len(sources) * (_OF_SOURCE + _OF_HISTOGRAM))
    packed = tuple(_packed(one.histogram) for one in sources)
    size = len(sources) * _OF_SOURCE + sum(_OF_BUCKET * len(places) for places, _ in packed)
    return _Kept(number, _with_histograms(interval, lambda _: _NO_COUNTS), packed, size)


def _sources(interval: Summary) -> Iterator[SourceSummary]:
    for cpu in interval.cpus:
        yield from cpu.sources
        for found in cpu.side.values():
            yield from found


def _with_histograms(interval: Summary, give: Callable[[SourceSummary], Counts]) -> Summary:
    """The interval with other histograms, asked for in the order of the sources."""
    cpus = []
    for cpu in interval.cpus:
        sources = tuple(replace(one, histogram=give(one)) for one in cpu.sources)
        side = {
            name: tuple(replace(one, histogram=give(one)) for one in found)
            for name, found in cpu.side.items()
        }
        cpus.append(replace(cpu, sources=sources, side=side))
    return replace(interval, cpus=tuple(cpus))


def _packed(histogram: Counts) -> Filled:
    places = np.flatnonzero(histogram)
    return places.astype(np.uint16), histogram[places]


def _unpacked(filled: Filled) -> Counts:
    places, counts = filled
    histogram = np.zeros(BUCKETS, np.int64)
    histogram[places] = counts
    return histogram
