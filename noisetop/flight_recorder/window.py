"""The last seconds of a running trace in memory, as the kernel side wrote them.

Bounded in time and in bytes. A part of it that is cut out makes an ordinary recording: what an
interval needs from before is kept apart (noisetop.flight_recorder.retained).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from noisetop.counters.period import Totals
from noisetop.events.layout import Events
from noisetop.events.records import Pieces
from noisetop.flight_recorder.retained import Retained


@dataclass(frozen=True, slots=True)
class Chunk:
    """What one reading of the rings gave."""

    records: Pieces
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
    _chunks: deque[Chunk] = field(default_factory=deque)
    _until_ns: int = 0
    """Up to here the newest chunk is complete."""
    _bytes: int = 0
    _limited: bool = False
    """Whether the last chunks that left did so because of the bound in bytes."""

    def add(self, chunk: Chunk) -> None:
        """Takes the chunk that follows."""
        self._chunks.append(chunk)
        self._until_ns = chunk.until_ns
        for names in chunk.records.names:
            self.retained.add_names(names)
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
            self._bytes -= first.records.nbytes
            self.retained.add_triggers(first.records.triggers)
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
            pieces += chunk.records.triggers if number < skipped else chunk.records.all
        return Cut(start_ns, totals, tuple(pieces), self._limited and start_ns > wanted_ns)

    def recent(self, start_ns: int, before_ns: int) -> Pieces:
        """All names; what ended after a moment; triggers since ``before_ns`` earlier, and those
        from before the window."""
        told, ended = (
            [chunk.records for chunk in self._chunks if chunk.done_ns > since_ns]
            for since_ns in (start_ns - before_ns, start_ns)
        )
        return Pieces(
            [self.retained.names],
            [self.retained.triggers, *(some for one in told for some in one.triggers)],
            [some for one in ended for some in one.waits],
            [some for one in ended for some in one.events],
        )
