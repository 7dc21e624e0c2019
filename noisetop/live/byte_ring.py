"""Pieces of bytes in one block of memory: the oldest make room for the newest.

Pieces of their own would lie between everything else in the heap for minutes, which can then give
nothing back.
"""

from __future__ import annotations

import mmap
from collections import deque
from typing import NamedTuple


class _Piece(NamedTuple):
    number: int
    start: int
    end: int


class ByteRing:
    """Keeps pieces in the order of their numbers, ``size`` bytes in all. Memory is taken as it is
    filled for the first time, and never more."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._memory: mmap.mmap | None = None
        self._pieces: deque[_Piece] = deque()

    def __len__(self) -> int:
        """Pieces that are kept."""
        return len(self._pieces)

    @property
    def first(self) -> int:
        """Number of the oldest that is kept; -1: none is."""
        return self._pieces[0].number if self._pieces else -1

    def put(self, number: int, content: bytes) -> None:
        """The newest, of a byte at least. One that is larger than all of the memory is not kept,
        nor is what came before it."""
        start = self._pieces[-1].end if self._pieces else 0
        if start + len(content) > self.size:
            # The rest of the memory is too small for it: what is there goes, as it comes first.
            self._drop(start, self.size)
            start = 0
        end = start + len(content)
        self._drop(start, end)
        if end > self.size:
            self.clear()
            return
        if self._memory is None:
            self._memory = mmap.mmap(-1, self.size)
        self._memory[start:end] = content
        self._pieces.append(_Piece(number, start, end))

    def _drop(self, start: int, end: int) -> None:
        """The oldest pieces that have a part of this range."""
        while self._pieces and self._pieces[0].start < end and start < self._pieces[0].end:
            self._pieces.popleft()

    def drop_oldest(self) -> None:
        """There must be one."""
        self._pieces.popleft()

    def get(self, number: int) -> bytes | None:
        """None: it is gone."""
        found = next((one for one in self._pieces if one.number == number), None)
        if found is None or self._memory is None:
            return None
        return self._memory[found.start : found.end]

    def clear(self) -> None:
        """Forgets all."""
        self._pieces.clear()
