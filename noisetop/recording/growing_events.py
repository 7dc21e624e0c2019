"""Follows the events of a recording file while others append to it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from noisetop.events.layout import Events, Layout

_PIECE_BYTES = 1 << 20


class GrowingEvents:
    """Reads each block of a raw file once, as soon as it is whole; in memory bounded by 1 MiB.

    ``fd`` is open for reading and stays the caller's; its position does not change. ``offset``:
    where the blocks begin, in bytes.
    """

    def __init__(self, fd: int, layout: Layout, offset: int) -> None:
        self._fd = fd
        self._layout = layout
        self._offset = offset

    def new(self) -> Iterator[Events]:
        """The events of the blocks that became whole since the last call. Raises OSError."""
        header = self._layout.block
        size = os.fstat(self._fd).st_size
        while self._offset + header.itemsize <= size:
            block = np.frombuffer(os.pread(self._fd, header.itemsize, self._offset), header)[0]
            first = self._offset + header.itemsize
            end = first + int(block["bytes"])
            if end > size:
                break  # it is being written
            self._offset = end
            if block["kind"] == self._layout.block_kinds["EVENTS"]:
                yield from self._events(first, end)

    def _events(self, first: int, end: int) -> Iterator[Events]:
        event = self._layout.event
        step = _PIECE_BYTES // event.itemsize * event.itemsize
        for at in range(first, end, step):
            content = os.pread(self._fd, min(step, end - at), at)
            yield np.frombuffer(content, event, len(content) // event.itemsize)
