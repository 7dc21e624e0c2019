"""Follows the events of a recording file while others append to it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from noisetop.events.layout import Events, Layout
from noisetop.input import InputBytes
from noisetop.recording.event_block import EVENT_BLOCKS, Block, events_of

_PIECE_BYTES = 1 << 20


class GrowingEvents:
    """Reads each block of a raw file once, as soon as it is whole; in pieces of at most 1 MiB.

    ``fd`` is open for reading and stays the caller's; its position does not change. ``offset``:
    where the blocks begin, in bytes.
    """

    def __init__(self, fd: int, layout: Layout, offset: int) -> None:
        with open(fd, "rb", closefd=False) as file:
            self._content = InputBytes(file)
        self._layout = layout
        self._offset = offset

    def new(self) -> Iterator[Events]:
        """The events of the blocks that became whole since the last call. Raises OSError, and
        ValueError where the file became shorter."""
        header, kinds = self._layout.block, self._layout.block_kinds
        size = len(self._content)
        while self._offset + header.itemsize <= size:
            content = self._content.at(self._offset, header.itemsize)
            found = np.frombuffer(content, header, 1)[0]
            first = self._offset + header.itemsize
            block = Block(int(found["kind"]), first, int(found["bytes"]))
            if first + block.size > size:
                break  # it is being written
            self._offset = first + block.size
            if block.kind in (kinds[name] for name in EVENT_BLOCKS):
                most = _PIECE_BYTES // self._layout.event.itemsize
                yield from events_of(self._content, block, self._layout, most)
