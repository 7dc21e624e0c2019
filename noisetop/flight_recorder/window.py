"""The last seconds of a running trace in memory, as the kernel side wrote them.

Bounded in time and in bytes. A part of it that is cut out makes an ordinary recording: what an
interval needs from before is kept apart (noisetop.flight_recorder.retained).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from noisetop.counters.period import Totals
from noisetop.events.layout import Events
from noisetop.events.records import Records
from noisetop.flight_recorder.needed import Pieces
from noisetop.flight_recorder.retained import Retained

TRIGGERS = Records._fields.index("triggers")
_BLOCK_ROWS = 1 << 12
"""256 KiB."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """What one reading of the rings gave."""

    records: Records
    until_ns: int
    """Up to here all that has ended is in this chunk or an earlier one."""
    done_ns: int
    """Nothing that begins after this is in it."""
    totals: Totals
    """The side figures since the trace began, as of then."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A part of the window, up to its last chunk."""

    start_ns: int
    totals: Totals
    """The side figures at the start."""
    pieces: tuple[Events, ...]
    """All records that may lie in it, those from before first."""
    limited: bool
    """Whether the bound in bytes left out what was asked for."""


@dataclass(frozen=True, slots=True)
class _Held:
    """A chunk in the window."""

    kinds: tuple[tuple[Events, ...], ...]
    """Of each kind of records its blocks, in the order of Records."""
    nbytes: int
    done_ns: int
    totals: Totals

    @classmethod
    def of(cls, chunk: Chunk) -> _Held:
        kinds = tuple(tuple(blocks_of(some)) for some in chunk.records)
        return cls(kinds, chunk.records.nbytes, chunk.done_ns, chunk.totals)

    @property
    def pieces(self) -> Iterator[Events]:
        return chain.from_iterable(self.kinds)


def blocks_of(rows: Events) -> Iterator[Events]:
    """Copies of bounded size, of which all large ones have the same: what leaves the window makes
    room for what comes, and the heap does not fall into ever more pieces."""
    row_bytes, plain = rows.dtype.itemsize, rows.view(np.uint8)
    most = _BLOCK_ROWS * row_bytes
    for first in range(0, len(plain), most):
        part = plain[first : first + most]
        block = np.empty(most if len(part) > most // 2 else len(part), np.uint8)
        block[: len(part)] = part
        yield block[: len(part)].view(rows.dtype)


@dataclass(slots=True)
class Window:
    """Call add() with each chunk, then trim()."""

    retained: Retained
    keep_ns: int
    keep_bytes: int
    start_ns: int
    """Nothing is kept from before this."""
    totals: Totals
    """As of then."""
    _chunks: deque[_Held] = field(default_factory=deque)
    _until_ns: int = 0
    """Up to here the newest chunk is complete."""
    _bytes: int = 0
    _limited: bool = False
    """Whether the last chunks that left did so because of the bound in bytes."""

    def add(self, chunk: Chunk) -> None:
        """Takes the chunk that follows."""
        self._chunks.append(_Held.of(chunk))
        self._until_ns = chunk.until_ns
        self.retained.add_names(chunk.records.names)
        self._bytes += chunk.records.nbytes

    def trim(self, needed_ns: int) -> None:
        """Lets go of what is older than ``keep_ns`` and ends before ``needed_ns``, and of more
        where the bytes demand it."""
        while len(self._chunks) > 1:
            first = self._chunks[0]
            old = first.done_ns <= min(self._until_ns - self.keep_ns, needed_ns)
            if not old and self._bytes <= self.keep_bytes:
                return
            self._limited = not old
            self._chunks.popleft()
            self._bytes -= first.nbytes
            self.retained.add_triggers(first.kinds[TRIGGERS])
            self.start_ns, self.totals = first.done_ns, first.totals

    def cut(self, wanted_ns: int) -> Cut:
        """From the last start of a chunk that is not after ``wanted_ns``, or from the oldest one,
        up to now."""
        start_ns, totals, skipped = self.start_ns, self.totals, 0
        for number, chunk in enumerate(self._chunks, 1):
            if chunk.done_ns > wanted_ns:
                break
            start_ns, totals, skipped = chunk.done_ns, chunk.totals, number
        pieces = [self.retained.names, self.retained.triggers]
        for number, chunk in enumerate(self._chunks):
            # Names, which are in there, and triggers from before count as well.
            pieces += chunk.kinds[TRIGGERS] if number < skipped else chunk.pieces
        return Cut(start_ns, totals, tuple(pieces), self._limited and start_ns > wanted_ns)

    def recent(self, since_ns: int) -> Pieces:
        """All names, the triggers from before the window, and the chunks that reach beyond a
        moment."""
        chunks = [chunk.kinds for chunk in self._chunks if chunk.done_ns > since_ns]
        triggers, waits, events = (
            [some for kinds in chunks for some in kinds[kind]]
            for kind in range(TRIGGERS, len(Records._fields))
        )
        retained = self.retained
        return Pieces([retained.names], [retained.triggers, *triggers], waits, events)
