"""The latest intervals of a running trace, in bounded memory, to look at once more."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace

from noisetop.events.task_directory import TaskDirectory
from noisetop.live.packed_summary import packed, unpacked
from noisetop.summary.summary import Summary

_BYTES = 32 << 20
_INTERVALS = 600


@dataclass(frozen=True, slots=True)
class _Kept:
    """One interval."""

    number: int
    packed: bytes


@dataclass(slots=True)
class PastIntervals:
    """By number, as in noisetop.live.noise_columns; the oldest go."""

    most_bytes: int = _BYTES
    _kept: deque[_Kept] = field(default_factory=deque)
    _bytes: int = 0
    _directory: TaskDirectory = field(default_factory=TaskDirectory)
    """That of the trace, which has every interval's tasks."""

    def put(self, number: int, interval: Summary) -> None:
        """The newest interval."""
        kept = _Kept(number, packed(interval))
        self._directory = interval.directory
        self._kept.append(kept)
        self._bytes += len(kept.packed)
        while len(self._kept) > _INTERVALS or (
            len(self._kept) > 1 and self._bytes > self.most_bytes
        ):
            self._bytes -= len(self._kept.popleft().packed)

    def get(self, number: int) -> Summary | None:
        """None: it is gone."""
        found = next((one for one in self._kept if one.number == number), None)
        return replace(unpacked(found.packed), directory=self._directory) if found else None

    @property
    def first(self) -> int:
        """Number of the oldest that is kept; -1: none is."""
        return self._kept[0].number if self._kept else -1

    def clear(self) -> None:
        """Forgets all."""
        self._kept.clear()
        self._bytes = 0
