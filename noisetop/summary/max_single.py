"""Contiguous intervals of noise on one CPU: what a spinning thread would see as a single gap."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from noisetop.events.interruption import Interruptions

GAP_NS = 1_000
"""Interruptions less than this apart are one: the victim got nothing done in between, and a
spinning thread sees a single gap."""

HOLD_NS = 2_000_000_000
"""An interruption that began while the kernel side wrote another one down is delivered later than
it, by the time between two visits of the reader at most. What ended within this time of the newest
one is therefore not settled yet; so results do not depend on how the events were cut up."""

Times = npt.NDArray[np.int64]


def joined_intervals(
    starts: Times, ends: Times, first_ns: int | None = None
) -> tuple[Times, Times, Times]:
    """Start, end and noise in ns of the contiguous intervals that interruptions of one CPU make, in
    the order of their start, at least one. ``first_ns``: the noise of the first, where that is an
    interval itself."""
    ends = np.maximum.accumulate(ends)
    gross = ends - starts
    gross[1:] -= np.maximum(ends[:-1] - starts[1:], 0)
    if first_ns is not None:
        gross[0] = first_ns
    first = np.flatnonzero(np.append(True, starts[1:] - ends[:-1] >= GAP_NS))
    last = np.append(first[1:], len(starts)) - 1
    return starts[first], ends[last], np.add.reduceat(gross, first)


@dataclass(frozen=True, slots=True)
class NoiseInterval:
    """A contiguous interval: from the start of its first interruption to the end of its last."""

    cpu: int
    start_ns: int
    end_ns: int
    noise_ns: int
    """Time taken in it, without the short gaps that it holds."""


@dataclass(slots=True)
class NoiseIntervalFinder:
    """The longest intervals of one CPU, from its outermost interruptions in any pieces."""

    cpu: int
    keep: int = 1
    """How many to keep."""
    _worst: list[NoiseInterval] = field(default_factory=list)
    _starts: Times = field(default_factory=lambda: np.empty(0, np.int64))
    _ends: Times = field(default_factory=lambda: np.empty(0, np.int64))
    """Not settled yet, in the order of their start."""
    _open: NoiseInterval | None = None
    """The last settled interval, which may still go on."""

    def add(self, starts: Times, ends: Times) -> None:
        """Outermost interruptions of a victim on this CPU, at least one. Two overlap where a thread
        delays one victim and is a victim itself: that time counts once."""
        if len(self._starts):
            starts = np.concatenate([self._starts, starts])
            ends = np.concatenate([self._ends, ends])
        if (starts[1:] < starts[:-1]).any():
            order = np.argsort(starts, kind="stable")
            starts, ends = starts[order], ends[order]
        settled = int(np.searchsorted(starts, ends.max() - HOLD_NS))
        # Copies, as a view would keep the whole table.
        self._starts, self._ends = starts[settled:].copy(), ends[settled:].copy()
        self._worst, self._open = self._fold(starts[:settled], ends[:settled])

    def worst(self) -> list[NoiseInterval]:
        """The longest intervals so far, longest first; of equal ones the earliest first."""
        worst, still_open = self._fold(self._starts, self._ends)
        return _longest([*worst, *([still_open] if still_open else [])], self.keep)

    def forget(self) -> None:
        """Settled intervals that have ended do not count from now on."""
        self._worst = []

    def candidates(self) -> list[NoiseInterval]:
        """All that can still be among the longest, those that may grow as they are by now."""
        found, still_open = self._fold(self._starts, self._ends)
        every = [*self._worst, *found, *filter(None, (self._open, still_open))]
        by_end = sorted(every, key=lambda one: one.end_ns)
        return list({one.start_ns: one for one in by_end}.values())

    def _fold(self, starts: Times, ends: Times) -> tuple[list[NoiseInterval], NoiseInterval | None]:
        """The kept intervals and the open one after some more interruptions."""
        if not len(starts):
            return self._worst, self._open
        if self._open:
            starts = np.concatenate([[self._open.start_ns], starts])
            ends = np.concatenate([[self._open.end_ns], ends])
        first_ns = self._open.noise_ns if self._open else None
        starts, ends, noise = joined_intervals(starts, ends, first_ns)
        longest = _largest(noise[:-1], self.keep)
        found = [self._interval(starts[i], ends[i], noise[i]) for i in longest]
        still_open = self._interval(starts[-1], ends[-1], noise[-1])
        return _longest([*self._worst, *found], self.keep), still_open

    def _interval(self, start: np.int64, end: np.int64, noise: np.int64) -> NoiseInterval:
        return NoiseInterval(self.cpu, int(start), int(end), int(noise))


def _largest(values: Times, keep: int) -> npt.NDArray[np.intp]:
    """Places of the largest, largest first; of equal ones the first."""
    if len(values) <= keep:
        return np.argsort(-values, kind="stable")
    places = np.flatnonzero(values >= np.partition(values, -keep)[-keep])
    return places[np.argsort(-values[places], kind="stable")][:keep]


def _longest(intervals: list[NoiseInterval], keep: int) -> list[NoiseInterval]:
    return sorted(intervals, key=lambda one: (-one.noise_ns, one.start_ns, one.cpu))[:keep]


@dataclass(slots=True)
class LongestIntervals:
    """The longest intervals of all CPUs together."""

    keep: int = 10
    _finders: dict[int, NoiseIntervalFinder] = field(default_factory=dict)

    def add(self, outermost: Interruptions) -> None:
        """Outermost interruptions of victims, on any CPUs."""
        cpus = outermost["cpu"]
        starts = outermost["start_ns"].astype(np.int64)
        ends = starts + outermost["gross_ns"].astype(np.int64)
        order = np.argsort(cpus, kind="stable")
        starts, ends, cpus = starts.take(order), ends.take(order), cpus.take(order)
        edges = np.flatnonzero(cpus[1:] != cpus[:-1]) + 1
        for begin, end in pairwise([0, *edges.tolist(), len(cpus)]):
            if begin < end:
                cpu = int(cpus[begin])
                finder = self._finders.setdefault(cpu, NoiseIntervalFinder(cpu, self.keep))
                finder.add(starts[begin:end], ends[begin:end])

    def worst(self) -> list[NoiseInterval]:
        """Longest first."""
        found = [interval for finder in self._finders.values() for interval in finder.worst()]
        return _longest(found, self.keep)

    def candidates(self) -> list[NoiseInterval]:
        """All that can still be among the longest, in no order."""
        return [interval for finder in self._finders.values() for interval in finder.candidates()]

    def forget(self) -> None:
        """Settled intervals that have ended do not count from now on."""
        for finder in self._finders.values():
            finder.forget()

    def worst_of(self, cpu: int) -> list[NoiseInterval]:
        """Those of one CPU, longest first."""
        finder = self._finders.get(cpu)
        return finder.worst() if finder else []

    def longest_of(self, cpu: int) -> NoiseInterval | None:
        """The longest interval of one CPU, None when it had no noise."""
        finder = self._finders.get(cpu)
        return finder.worst()[0] if finder else None
