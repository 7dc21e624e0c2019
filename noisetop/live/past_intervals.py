"""The latest intervals of a running trace, in bounded memory, to look at once more."""

from __future__ import annotations

from dataclasses import replace

from noisetop.events.task_directory import TaskDirectory
from noisetop.live.byte_ring import ByteRing
from noisetop.live.packed_summary import packed, unpacked
from noisetop.summary.summary import Summary

_BYTES = 4 << 20
_INTERVALS = 600


class PastIntervals:
    """By number, as in noisetop.live.noise_columns; the oldest go."""

    def __init__(self, most_bytes: int = _BYTES) -> None:
        self._kept = ByteRing(most_bytes)
        self._directory = TaskDirectory()
        """That of the trace, which has every interval's tasks."""

    def put(self, number: int, interval: Summary) -> None:
        """The newest interval."""
        self._directory = interval.directory
        self._kept.put(number, packed(interval))
        if len(self._kept) > _INTERVALS:
            self._kept.drop_oldest()

    def get(self, number: int) -> Summary | None:
        """None: it is gone."""
        found = self._kept.get(number)
        return replace(unpacked(found), directory=self._directory) if found else None

    @property
    def first(self) -> int:
        """Number of the oldest that is kept; -1: none is."""
        return self._kept.first

    def clear(self) -> None:
        """Forgets all."""
        self._kept.clear()
