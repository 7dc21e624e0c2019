"""The latest intervals of a running trace, in bounded memory, to look at once more."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from noisetop.summary.summary import Summary

_SOURCES = 10_000
"""Sources in all that is kept: each has a histogram of 5 KiB, so some 60 MiB."""
_INTERVALS = 600


@dataclass(slots=True)
class PastIntervals:
    """By number, as in noisetop.live.noise_columns; the oldest go."""

    _kept: deque[tuple[int, int, Summary]] = field(default_factory=deque)
    """Number, sources and figures."""
    _sources: int = 0

    def put(self, number: int, interval: Summary) -> None:
        """The newest interval."""
        sources = sum(len(cpu.sources) + len(cpu.side) for cpu in interval.cpus)
        self._kept.append((number, sources, interval))
        self._sources += sources
        while len(self._kept) > _INTERVALS or (len(self._kept) > 1 and self._sources > _SOURCES):
            self._sources -= self._kept.popleft()[1]

    def get(self, number: int) -> Summary | None:
        """None: it is gone."""
        return next((one for at, _, one in self._kept if at == number), None)

    def clear(self) -> None:
        """Forgets all."""
        self._kept.clear()
        self._sources = 0
