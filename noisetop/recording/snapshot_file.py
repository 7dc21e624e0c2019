"""A recording of a period that is over, from records in memory: the same file as one that grew."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from noisetop.counters.period import PeriodCounters
from noisetop.events.layout import Events, Layout
from noisetop.events.source_names import Names
from noisetop.events.trigger import UserStacks
from noisetop.recording.block_file import PlainBlockFile
from noisetop.recording.event_block import packed_events
from noisetop.recording.raw_file import SpoolWriter, json_payload
from noisetop.tables.rows import select

_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything that goes into the file."""

    layout: Layout
    names: Names
    metadata: dict[str, Any]
    cpus: tuple[int, ...]
    start_ns: int
    end_ns: int
    pieces: tuple[Events, ...]
    """Records in the order in which they were read, those from before the period first."""
    opened: Events
    """What goes on at its end, as if it ended then."""
    counters: PeriodCounters
    details: Mapping[str, Any]
    """Who the processes are: Details.to_file()."""
    stacks: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    user_stacks: UserStacks = field(default_factory=dict)
    ended: str = ""

    def write(self, fd: int) -> None:
        """Writes it to an empty file that is open for reading as well. Raises OSError."""
        file = PlainBlockFile(fd, self.layout)
        writer = SpoolWriter(self.layout, file)
        writer.write_head(self.metadata, self.names, self.cpus)
        kinds = self.layout.block_kinds
        file.append(kinds["START"], self.start_ns.to_bytes(8, "little"))
        file.append(kinds["JSON"], json_payload(dict(self.details)))
        for events in self._blocks((*self.pieces, self.opened)):
            file.append(kinds["PACKED"], packed_events(events, self.layout))
        stacks, user_stacks = dict(self.stacks), dict(self.user_stacks)
        writer.write_end(self.end_ns, self.counters, self.ended, stacks, user_stacks)

    def _blocks(self, pieces: Iterable[Events]) -> Iterator[Events]:
        """What belongs to the period, in pieces of bounded size."""
        most = _BLOCK_BYTES // self.layout.event.itemsize
        for piece in pieces:
            events = select(piece, wanted(piece, self.layout, self.start_ns, self.end_ns))
            for first in range(0, len(events), most):
                yield events[first : first + most]


def wanted(events: Events, layout: Layout, start_ns: int, end_ns: int) -> npt.NDArray[np.bool_]:
    """Which records a recording of a period has, as is_wanted() of noisetop/native/drain.c says:
    intervals that lie wholly in it, waits that end in it, names and triggers from before as well.
    """
    flags = layout.flags
    starts = events["start_ns"]
    told = events["flags"] & np.uint8(flags["TRIGGER"] | flags["NAME"]) != 0
    wait = events["flags"] & np.uint8(flags["WAIT"]) != 0
    ends = starts + np.where(told, np.uint64(0), events["gross_ns"])
    first = np.where(wait, ends, starts)
    mine: npt.NDArray[np.bool_] = (ends <= end_ns) & (told | (first >= start_ns))
    return mine
