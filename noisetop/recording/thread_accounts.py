"""Where the time of victim threads went, told after the tables were read and period by period."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from noisetop.events.decoder import RecordReader
from noisetop.events.interruption import Interruptions
from noisetop.events.layout import Events
from noisetop.events.victim_time import VictimBook, VictimTime
from noisetop.events.waits import TaskWait, WaitBook
from noisetop.tables.rows import joined, select


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
    """See noisetop.events.victim_time.VictimBook."""
    chunks: Callable[[], Iterator[Interruptions]]
    """All interruptions as Recording.read_chunks, but for unattributed time."""
    _book: VictimBook | None = None
    _waits: list[Events] = field(default_factory=list)
    """Records of waits that no period has yet, in the order of reading."""

    def begin(self, start_ns: int) -> None:
        """After chunks() was read to its end: the first period begins (CLOCK_MONOTONIC)."""
        reader = self.reader
        if reader.layout.slept_new is not None:
            self._book = VictimBook(reader.layout, reader.namer.sources, reader.task_names)
            self._book.restart(start_ns, follows=self.follows)
        self._waits = [waits for waits in reader.wait_records if len(waits)]

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
        waits = self._ended(end_ns, last=last)
        book = WaitBook()
        book.add(waits, self.reader.layout.wait_reasons, self.reader.victims.start_ns)
        if self._book is None:
            return PeriodAccount({}, book.by_task(), still[:0])
        for table in tables or (still[:0],):
            self._book.add(table, waits[:0])
        self._book.add(still[:0], waits)
        going_on = None if last else self._open(end_ns)
        rows = self._book.settle(None if last else end_ns, still, going_on)
        return PeriodAccount(self._book.close(end_ns), book.by_task(), rows)

    def _ended(self, end_ns: int, *, last: bool) -> Events:
        due: list[Events] = [np.empty(0, self.reader.layout.event)]
        later: list[Events] = []
        for waits in self._waits:
            ended = waits["start_ns"] + waits["gross_ns"] <= end_ns
            if last or ended.all():
                due.append(waits)
                continue
            due.append(select(waits, ended))
            later.append(select(waits, ~ended))
        self._waits = later
        return joined(due)

    def _open(self, end_ns: int) -> Events:
        """Those that go on at a moment, as the kernel side tells them of a running trace."""
        mark = self.reader.layout.open_mark
        begun = [select(waits, waits["start_ns"] < end_ns) for waits in self._waits]
        opened = joined([np.empty(0, self.reader.layout.event), *begun]).copy()
        opened["gross_ns"] = np.uint64(end_ns) - opened["start_ns"]
        opened["level"] |= mark
        return opened
