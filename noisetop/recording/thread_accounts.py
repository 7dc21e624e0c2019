"""Where the time of victim threads went, told after the tables were read and period by period."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from noisetop.events.decoder import RecordReader
from noisetop.events.interruption import Interruptions
from noisetop.events.victim_book import VictimBook
from noisetop.events.victim_time import VictimTime
from noisetop.events.waits import TaskWait, WaitBook
from noisetop.events.waits_by_time import WaitsByTime


@dataclass(frozen=True, slots=True)
class PeriodAccount:
    """What threads tell of one period."""

    victims: Mapping[int, VictimTime]
    """Where the time of each went, by tid."""
    waits: Mapping[int, TaskWait]
    unattributed: Interruptions
    """Rows for waits that nothing accounts for."""


@dataclass(slots=True)
class ThreadAccounts:
    """Of one recording. Reading with chunks() leaves the accounts for later, which makes it several
    times as fast; account() then takes the periods in their order."""

    reader: RecordReader
    follows: bool
    """See noisetop.events.victim_book.VictimBook."""
    chunks: Callable[[], Iterator[Interruptions]]
    """All interruptions as Recording.read_chunks, but for unattributed time."""
    _book: VictimBook | None = None
    _waits: WaitsByTime | None = None

    def begin(self, start_ns: int) -> None:
        """After chunks() was read to its end: the first period begins (CLOCK_MONOTONIC)."""
        reader = self.reader
        if reader.layout.slept_new is not None:
            self._book = VictimBook(reader.layout, reader.namer.sources, reader.task_names)
            self._book.restart(start_ns, follows=self.follows)
        self._waits = WaitsByTime(reader.layout, reader.wait_records)

    def account(
        self,
        tables: Sequence[Interruptions],
        still: Interruptions,
        end_ns: int,
        *,
        last: bool,
    ) -> PeriodAccount:
        """The next period, from the interruptions that ended in it and the threads that go on at
        its end (CLOCK_MONOTONIC); ``last``: it is the end of the recording."""
        assert self._waits is not None
        waits = self._waits.ended(None if last else end_ns)
        book = WaitBook()
        book.add(waits, self.reader.layout.wait_reasons, self.reader.victims.start_ns)
        if self._book is None:
            return PeriodAccount({}, book.by_task(), still[:0])
        for table in tables or (still[:0],):
            self._book.add(table, waits[:0])
        self._book.add(still[:0], waits)
        going_on = None if last else self._waits.going_on(end_ns)
        rows = self._book.settle(None if last else end_ns, still, going_on)
        return PeriodAccount(self._book.close(end_ns), book.by_task(), rows)
