"""Records of the kernel side, split by what they tell."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from noisetop._tables import split_by_kind
from noisetop.events.layout import Events, Layout


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

    @property
    def nbytes(self) -> int:
        """Of all."""
        return sum(some.nbytes for some in self)


def split(layout: Layout, *pieces: Events) -> Records:
    """The records of these pieces, one after another. Copies."""
    event = layout.event
    assert event.fields is not None
    flags = layout.flags
    kinds = bytes([flags["NAME"], flags["TRIGGER"], flags["WAIT"], 0])
    plain = [piece.view(np.uint8) for piece in pieces]
    rows = split_by_kind(plain, event.itemsize, event.fields["flags"][1], sum(kinds), kinds)
    return Records(*(np.frombuffer(some, event) for some in rows))
