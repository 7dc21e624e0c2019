"""From the bytes of the rings to interruptions: every record goes where it belongs.

The live view and recordings are read by the same code, so they cannot differ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from noisetop.events.cold_entries import ColdEntries
from noisetop.events.interruption import SIDE_LEVEL, Interruptions, Source
from noisetop.events.layout import Events, Layout
from noisetop.events.origin import OriginJoin
from noisetop.events.records import split
from noisetop.events.single_calls import SingleCalls
from noisetop.events.source_names import Namer, Names
from noisetop.events.task_names import TaskNames
from noisetop.events.trigger_join import RECENT_NS, TriggerJoin
from noisetop.events.victim_book import VictimBook
from noisetop.events.waits import WaitBook
from noisetop.events.waits_by_time import WaitsByTime
from noisetop.tables.intervals import union_ns
from noisetop.tables.rows import joined, select

_HELD_NS = RECENT_NS // 2
"""Rings of two CPUs are not read at one moment: an event this young may wait for its trigger."""
_HELD_LIMIT = 1 << 15
"""Of events, by when they ended: the order of a ring is another one, see ColdEntries."""


_SETTLED_NS = 100_000_000
"""A wait may end while that which delayed it goes on: that takes a scheduler's slice, at most."""
_WORK_LEVEL = 1
_CHEAP = "cheap"
"""As in counters.left_out."""


def _complete_ns(events: Events) -> int:
    if not len(events):
        return 0
    return max(int((events["start_ns"] + events["gross_ns"]).max()) - _HELD_NS, 0)


@dataclass(frozen=True, slots=True)
class Batch:
    """Records of one reading, each where it belongs."""

    names: Events
    triggers: Events
    waits: Events
    events: Events
    """Those whose triggers are known by now."""
    table: Interruptions
    """The same as interruptions, without triggers."""
    called: tuple[npt.NDArray[np.int64], Events]
    """Events whose triggers the senders tell on their own, and these: see SingleCalls."""
    complete_ns: int
    """Up to here all that has ended is in this batch or an earlier one."""
    last: bool


@dataclass(slots=True)
class RecordReader:
    """Takes records in the order of the rings, in any number of pieces."""

    layout: Layout
    names: Names
    own_pid: int = 0
    """The noisetop that traced; 0: not known."""
    namer: Namer = field(init=False)
    join: TriggerJoin = field(init=False)
    origin: OriginJoin = field(init=False)
    victims: VictimBook = field(init=False)
    calls: SingleCalls | None = None
    """Where functions were not traced as they ran."""
    cold: ColdEntries = field(default_factory=ColdEntries)
    task_names: TaskNames = field(default_factory=TaskNames)
    waits: WaitBook = field(default_factory=WaitBook)
    accounts: bool = True
    """Whether to tell where the time of victims went while records are read: that is most of the
    work where many threads wait."""
    wait_records: list[Events] = field(default_factory=list)
    """Without ``accounts``: the records that it is told by, since restart()."""
    _held: Events = field(init=False)
    _held_waits: Events = field(init=False)

    def __post_init__(self) -> None:
        self.namer = Namer(self.layout, self.names)
        self.join = TriggerJoin(self.layout, self.namer.function_name, self.task_names)
        self.origin = self._origins()
        if _CHEAP in self.names.reduced:
            self.calls = SingleCalls(self.layout)
        self.victims = VictimBook(self.layout, self.namer.sources, self.task_names)
        self._held = self._held_waits = np.empty(0, self.layout.event)

    def _origins(self) -> OriginJoin:
        return OriginJoin(
            self.namer.sources, self.join.triggers, self.task_names, self.names.reduced
        )

    @property
    def tasks(self) -> dict[int, str]:
        """The last name of each tid; grows while records are read."""
        return self.task_names.latest

    def forget(
        self, told_as: Callable[[Source], Source], is_alive: Callable[[int], bool], kept: int
    ) -> None:
        """Begins with new lists of sources and triggers, which tables index from now on, and
        forgets the names of tasks that are gone, but for the ``kept`` latest ones.

        ``told_as``: what a source that ran before is called; ``is_alive``: whether there is a task
        of that number.
        """
        self.namer.forget()
        self.join.forget()
        self.task_names.forget(is_alive, kept)
        self.victims.forget(self.namer, told_as, is_alive)
        self.origin = self._origins()

    def restart(self, start_ns: int = 0, *, follows: bool = False) -> None:
        """The next call begins from the first record again. The window begins at ``start_ns``;
        ``follows``: see VictimBook."""
        self._held, self._held_waits = self._held[:0], self._held_waits[:0]
        self.victims.restart(start_ns, follows=follows)
        self.cold.restart()
        self.waits.clear()
        self.wait_records.clear()
        self.join.restart()
        if self.calls is not None:
            self.calls.restart()

    def read(
        self,
        *pieces: Events,
        last: bool,
        complete_ns: int | None = None,
        settles: bool = False,
    ) -> Interruptions:
        """Interruptions with sources and triggers; the youngest are kept for the next call, unless
        this is the last one. Until ``complete_ns`` nothing is missing: every ring was read since.
        ``settles``: settle() comes next, up to that moment.
        """
        return self.join_triggers(
            self.take(*pieces, last=last, complete_ns=complete_ns), settles=settles
        )

    def take(self, *pieces: Events, last: bool, complete_ns: int | None = None) -> Batch:
        """The first half of read(): all but who caused it. May run ahead on another thread."""
        is_told = complete_ns is not None
        names, triggers, waits, events = split(self.layout, self._held, *pieces)
        if complete_ns is None:
            complete_ns = _complete_ns(events)
        if self.layout.task_name is not None:
            self.namer.note_own(names.view(self.layout.task_name), self.own_pid)
        events = self._due(events, complete_ns, last=last)
        if is_told:
            waits = self._due_waits(waits, complete_ns, last=last)
        table = self.namer.interruptions(events)
        self.cold.mark(table)
        called = self._name_calls(triggers, events, table)
        return Batch(names, triggers, waits, events, table, called, complete_ns, last)

    def _name_calls(
        self, triggers: Events, events: Events, table: Interruptions
    ) -> tuple[npt.NDArray[np.int64], Events]:
        """Adds the function to the sources of interrupts that can have run only one."""
        if self.calls is None:
            return np.empty(0, np.int64), events[:0]
        self.calls.add(triggers.view(self.layout.trigger))
        rows, records, alone = self.calls.find(events)
        self.namer.add_functions(table, rows, records["function"])
        return rows[alone], select(records, alone)

    def join_triggers(self, batch: Batch, *, settles: bool = False) -> Interruptions:
        """The other half, in the order in which the batches were taken. ``settles``: see read()."""
        self.task_names.add(batch.names, self.layout.task_name)
        if len(batch.triggers):
            self.join.add(batch.triggers.view(self.layout.trigger))
        self.waits.add(batch.waits, self.layout.wait_reasons, self.victims.start_ns)
        table = batch.table
        table["trigger"], table["trigger_ns"] = self.join.join(batch.events, batch.called)
        table["origin"] = self.origin.origins(table)
        if not self.accounts:
            self.wait_records.append(batch.waits)
            return table
        if self.layout.slept_new is None:
            return table
        self.victims.add(table, batch.waits)
        if settles and not batch.last:
            return table
        settled_ns = None if batch.last else batch.complete_ns - _SETTLED_NS
        return joined([table, self.victims.settle(settled_ns)])

    def settle(
        self, opened: Events, above: Events, until_ns: int
    ) -> tuple[Interruptions, Interruptions]:
        """Settles what ended by a moment up to which read() was complete. ``opened`` are records of
        what has not ended, as if it ended when it was looked at, later than that moment, and
        ``above`` of what its threads were in then. Returns the threads among all that went on at
        that moment, and rows for what nothing accounts for."""
        is_wait = opened["flags"] & self.layout.flags["WAIT"] != 0
        ended = self._threads_before(self._held, until_ns)
        frames = self._threads_before(select(opened, ~is_wait), until_ns)
        # What ended while the rings were read is told twice.
        known = set(zip(*self._keys(ended), strict=True))
        going_on = [key not in known for key in zip(*self._keys(frames), strict=True)]
        frames = joined([ended, select(frames, np.array(going_on, bool))]).copy()
        later = joined([self._held, above])
        for frame in frames:
            self._cut(frame, later, until_ns)
        table = self.namer.interruptions(frames)
        self.cold.mark_going_on(table)
        table["trigger"], table["trigger_ns"] = self.join.join(frames)
        table["origin"] = self.origin.origins(table)
        waits = WaitsByTime(self.layout, [select(opened, is_wait), self._held_waits])
        return table, self.victims.settle(until_ns, table, waits.going_on(until_ns))

    def _cut(self, frame: np.void, later: Events, until_ns: int) -> None:
        """Gross and net time as they were at a moment: what interrupted the thread after that is no
        part of what is taken off."""
        gross_ns, net_ns = until_ns - int(frame["start_ns"]), int(frame["net_ns"])
        end_ns = int(frame["start_ns"]) + int(frame["gross_ns"])
        if end_ns <= until_ns:
            return
        mask = np.uint8(0xFF ^ self.layout.entry_mark)
        inside = (later["cpu"] == frame["cpu"]) & (later["start_ns"] < end_ns)
        inside &= later["level"] & mask > frame["level"] & mask
        nested = select(later, inside & (later["level"] & mask != SIDE_LEVEL))
        starts = nested["start_ns"].astype(np.int64)
        ends = np.minimum(starts + nested["gross_ns"].astype(np.int64), end_ns)
        later_ns = end_ns - until_ns - union_ns(np.maximum(starts, until_ns), ends)
        frame["gross_ns"], frame["net_ns"] = gross_ns, min(max(net_ns - later_ns, 0), gross_ns)

    def _threads_before(self, events: Events, until_ns: int) -> Events:
        """Threads and their work items that began before a moment."""
        threads = events["level"] & np.uint8(0xFF ^ self.layout.entry_mark) <= _WORK_LEVEL
        return select(events, threads & (events["start_ns"] < until_ns))

    def _keys(self, threads: Events) -> tuple[list[int], list[int], list[int]]:
        """What tells threads apart: CPU, level and start."""
        levels = threads["level"] & np.uint8(0xFF ^ self.layout.entry_mark)
        return threads["cpu"].tolist(), levels.tolist(), threads["start_ns"].tolist()

    def _due_waits(self, waits: Events, complete_ns: int, *, last: bool) -> Events:
        """Those that had ended by then; the others belong to the next period."""
        waits = joined([self._held_waits, waits])
        due = waits["start_ns"] + waits["gross_ns"] <= complete_ns
        if last:
            due[:] = True
        self._held_waits = select(waits, ~due)
        return select(waits, due)

    def _due(self, events: Events, complete_ns: int, *, last: bool) -> Events:
        """Those whose triggers are here; the others are held."""
        if last or not len(events):
            self._held = events[:0]
            return events
        ends = events["start_ns"] + events["gross_ns"]
        if (most := len(events) - _HELD_LIMIT) > 0:
            complete_ns = max(complete_ns, int(np.partition(ends, most - 1)[most - 1]))
        due = ends <= complete_ns
        self._held = select(events, ~due)
        return select(events, due)
