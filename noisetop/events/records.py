"""Records of the kernel side, split by what they tell."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from noisetop._tables import split_by_kind
from noisetop.events.layout import Events, Layout

_BLOCK_ROWS = 1 << 12
"""256 KiB."""


class Records(NamedTuple):
    """Each in the order in which they came."""

    names: Events
    """Who a task is: ``struct noise_task_name``."""
    triggers: Events
    """Who acted: ``struct noise_trigger``."""
    waits: Events
    """Waits and sleep that have ended."""
    events: Events
    """What ran."""


class Pieces(NamedTuple):
    """The same, each in some pieces."""

    names: Sequence[Events]
    triggers: Sequence[Events]
    waits: Sequence[Events]
    events: Sequence[Events]

    @property
    def all(self) -> Iterator[Events]:
        """Of every kind."""
        return chain.from_iterable(self)

    @property
    def nbytes(self) -> int:
        """Of all."""
        return sum(some.nbytes for some in self.all)


def split(layout: Layout, *pieces: Events) -> Records:
    """The records of these pieces, one after another. Copies."""
    blocks = _split(layout, pieces, sys.maxsize // layout.event.itemsize)
    none = np.empty(0, layout.event)
    return Records(*(one[0] if one else none for one in blocks))


def split_in_blocks(layout: Layout, records: Events) -> Pieces:
    """The same in pieces of bounded size, of which all but the last of a kind have the same: what
    is kept for a while makes room for what comes, and the heap does not fall into ever more
    pieces. Copies."""
    return Pieces(*_split(layout, [records], _BLOCK_ROWS))


def _split(layout: Layout, pieces: Sequence[Events], rows: int) -> Iterator[list[Events]]:
    event, flags = layout.event, layout.flags
    assert event.fields is not None
    kinds = bytes([flags["NAME"], flags["TRIGGER"], flags["WAIT"], 0])
    plain = [piece.view(np.uint8) for piece in pieces]
    at = event.fields["flags"][1]
    for blocks in split_by_kind(plain, event.itemsize, at, sum(kinds), kinds, rows):
        yield [np.frombuffer(block, event) for block in blocks]
