"""The periods that a recording is played in."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

_SECOND_NS = 1_000_000_000
_MOST = 3_600
"""Periods that a recording is cut into where nobody says how long they are."""
_FEWEST = 10
MOST_PERIODS = 20_000
"""Where somebody does."""
_LENGTHS_NS = tuple(
    int(step * 10**power) for power in range(6, 15) for step in (1, 2, 5)
)  # 1 ms to 5.8 days


def usual_length_ns(duration_ns: int) -> int:
    """Of a period: a second as in the live view, less where that is most of the recording, more
    where it would be thousands of periods."""
    if _FEWEST * _SECOND_NS <= duration_ns <= _MOST * _SECOND_NS:
        return _SECOND_NS
    if duration_ns < _SECOND_NS * _FEWEST:
        fitting = [ns for ns in _LENGTHS_NS if ns * _FEWEST <= duration_ns]
        return min(fitting[-1] if fitting else _LENGTHS_NS[0], _SECOND_NS)
    return next(ns for ns in _LENGTHS_NS if ns * _MOST >= duration_ns)


@dataclass(frozen=True, slots=True)
class Periods:
    """Moments in ns (CLOCK_MONOTONIC): the start, then the end of each period."""

    bounds_ns: tuple[int, ...]

    @classmethod
    def of(cls, start_ns: int, end_ns: int, length_ns: int) -> Periods:
        """Periods of equal length; the last one is shorter where that does not come out even."""
        inner = range(start_ns + length_ns, end_ns, length_ns)
        return cls((start_ns, *inner, max(end_ns, start_ns)))

    def __len__(self) -> int:
        return len(self.bounds_ns) - 1

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(zip(self.bounds_ns, self.bounds_ns[1:], strict=False))

    def at(self, moment_ns: int) -> int:
        """The number of the period that a moment lies in; the first or the last one outside."""
        return max(0, min(bisect_right(self.bounds_ns, moment_ns) - 1, len(self) - 1))

    def of_end(self, moment_ns: int) -> int:
        """The number of the period that has what ended at a moment."""
        return self.at(moment_ns - 1)

    def since_start_ns(self, number: int) -> int:
        """From the start of the recording to one of the moments."""
        return self.bounds_ns[number] - self.bounds_ns[0]
