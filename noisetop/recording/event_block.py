"""Blocks of events: as the kernel side wrote them, or packed without what they have in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from noisetop._tables import pack_records, unpack_records
from noisetop.events.layout import Events, Layout
from noisetop.input import InputBytes

EVENT_BLOCKS = ("EVENTS", "PACKED")
"""Kinds of blocks that hold events."""
MOST_BYTES = 256 << 20
"""Of a block that is read at once: any but one of events that are not packed."""
_COUNT_BYTES = 8
_SHAPE = (256, 8)
"""Of the records that others are compared with: by source, in words."""


class Block(NamedTuple):
    """Where the payload of a block lies, in bytes."""

    kind: int
    offset: int
    size: int


def packed_events(events: Events, layout: Layout) -> bytes:
    """The payload of a block of packed events."""
    fields = layout.event.fields
    assert fields is not None
    last = np.zeros(_SHAPE, np.uint64)
    content = pack_records(np.ascontiguousarray(events), fields["source"][1], last)
    content += b"\0" * (-len(content) % 8)
    return len(events).to_bytes(_COUNT_BYTES, "little") + content


def events_of(content: InputBytes, block: Block, layout: Layout, most: int) -> Iterator[Events]:
    """The events of a block, at most so many at once.

    Raises ValueError where there are fewer than it tells, or where the file became shorter.
    """
    if layout.block_kinds["EVENTS"] != block.kind:
        yield from _unpacked(content, block, layout, most)
        return
    size = layout.event.itemsize
    for first in range(0, count := block.size // size, most):
        rows = min(most, count - first)
        piece = content.at(block.offset + first * size, rows * size)
        yield np.frombuffer(piece, layout.event, rows)


def _unpacked(content: InputBytes, block: Block, layout: Layout, most: int) -> Iterator[Events]:
    if block.size > MOST_BYTES:
        raise ValueError(f"a packed block of {block.size} bytes")
    packed = content.at(block.offset, block.size)
    count, at = int.from_bytes(packed[:_COUNT_BYTES], "little"), _COUNT_BYTES
    last = np.zeros(_SHAPE, np.uint64)
    while count:
        events = np.empty(min(most, count), layout.event)
        at = unpack_records(packed, at, last, events)
        count -= len(events)
        yield events
