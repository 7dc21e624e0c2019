"""Who caused an interruption: joins what was sent, armed and queued with what ran later."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from noisetop.event import Events, Flag, Layout
from noisetop.interner import Interner
from noisetop.rows import joined, taken
from noisetop.task_names import TaskNames

Triggers = npt.NDArray[np.void]
"""Structured array of ``struct noise_trigger``."""
Indices = npt.NDArray[np.int64]

UNKNOWN = 0
"""Index of the trigger of an event whose cause is not known, or that needs none."""
TICK_FUNCTIONS = ("tick_nohz_handler", "tick_sched_timer")
CLOCKS = ("tick", "timer wheel")
"""Contexts that are nobody's doing: the scheduler's tick, and its timer serving others while the
tick is stopped; who armed those is told with their functions."""
_CONTEXTS = ("", "a softirq", "an interrupt", "an NMI", "unknown")
_TASK, _CONTEXT_UNKNOWN = 0, 4
RECENT_NS = 1_000_000_000
"""Events that reach back no further than this before the newest trigger find theirs in any case."""
_REMEMBERED = 1 << 16
_TIME_BITS = np.uint64(44)  # 4.9 hours
_WORK_LEVEL = 1
_ANSWERED_ONCE = ("csd",)
"""Kinds of events each of which has a trigger of its own."""
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_INSIDE = np.dtype([("start_ns", "<u8"), ("trigger_ns", "<u8"), ("trigger", "<u4"), ("cpu", "<u2")])


class Trigger(NamedTuple):
    """Who did it. Empty where it is not known."""

    task: str = ""
    """Name of the task, when it acted in its own context."""
    tid: int = 0
    cpu: int = -1
    """Where it was done, -1: not known."""
    context: str = ""
    """What that CPU was serving when it was no task's doing, or ``tick``."""
    work: str = ""
    """Where the task is a kworker: the function that it was executing."""
    origin: str = ""
    """And who had queued that."""
    stack: int = -1
    """Key of the kernel stack in the recording's stacks, -1: none."""

    @property
    def label(self) -> str:
        """The cause in one line; empty where it is not known."""
        if not self.task:
            where = f" on CPU {self.cpu}" if self.cpu >= 0 else ""
            return f"{self.context}{where}" if self.context else ""
        who = f"{self.task} {self.tid}"
        if self.work:
            who = f"{self.work} in {who}"
        return f"{who} ← {self.origin}" if self.origin else who


@dataclass(slots=True)
class _Book:
    """Triggers of one kind of event, found again by object and time."""

    records: Triggers
    _objects: npt.NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    _keys: npt.NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    _base_ns: int = 0
    _answered: npt.NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, bool))
    """Which of the records an event was found for by ``find_once``."""

    def add(self, records: Triggers, keys: npt.NDArray[np.uint64]) -> None:
        """Adds triggers; ``keys`` is what each has in common with its event."""
        kept = self._latest()
        both = joined([taken(self.records, kept), records])
        objects = np.concatenate([self._key_objects()[kept], keys])
        self._objects, place = np.unique(objects, return_inverse=True)
        self._base_ns = int(both["time_ns"].max()) - (1 << int(_TIME_BITS)) + 1
        packed = self._pack(place.astype(np.uint64), both["time_ns"])
        order = np.argsort(packed, kind="stable")
        self.records, self._keys = taken(both, order), packed[order]
        self._answered = np.concatenate([self._answered[kept], np.zeros(len(records), bool)])[order]

    def _key_objects(self) -> npt.NDArray[np.uint64]:
        return self._objects[(self._keys >> _TIME_BITS).astype(np.int64)]

    def _latest(self) -> Indices:
        """All recent ones, for events that are still held, and before them the last two of each
        object, up to a number."""
        if not len(self.records):
            return np.empty(0, np.int64)
        times = self.records["time_ns"].astype(np.int64)
        recent = times >= times.max() - RECENT_NS
        old = np.flatnonzero(~recent)
        place = self._keys[old] >> _TIME_BITS
        last = np.ones(len(old), bool)
        if len(old) > 2:
            last[:-2] = (place[:-1] != place[1:])[:-1] | (place[:-2] != place[2:])
        old = old[last]
        if len(old) > _REMEMBERED:
            old = old[np.argsort(times[old])[-_REMEMBERED:]]
        return np.sort(np.concatenate([old, np.flatnonzero(recent)]))

    def _pack(
        self, place: npt.NDArray[np.uint64], time_ns: npt.NDArray[np.uint64]
    ) -> npt.NDArray[np.uint64]:
        since = np.clip(time_ns.astype(np.int64) - self._base_ns, 0, (1 << int(_TIME_BITS)) - 1)
        return (place << _TIME_BITS) | since.astype(np.uint64)

    def find(self, keys: npt.NDArray[np.uint64], before_ns: npt.NDArray[np.uint64]) -> Indices:
        """Index in ``records`` of the last one with this key up to that moment, or -1."""
        if not len(self.records) or not len(keys):
            return np.full(len(keys), -1, np.int64)
        place = np.minimum(np.searchsorted(self._objects, keys), len(self._objects) - 1)
        at = (
            np.searchsorted(self._keys, self._pack(place.astype(np.uint64), before_ns), "right") - 1
        )
        found = (self._objects[place] == keys) & (at >= 0)
        found &= self._keys[at] >> _TIME_BITS == place.astype(np.uint64)
        return np.where(found, at, -1)

    def find_once(self, keys: npt.NDArray[np.uint64], before_ns: npt.NDArray[np.uint64]) -> Indices:
        """The same, but leaves a trigger to the first event that it is found for, in whichever
        batch: what caused a later one is missing, and to name nobody is better than to name the
        wrong one."""
        at = self.find(keys, before_ns)
        if len(self._answered):
            at[(at >= 0) & self._answered[at]] = -1
        order = np.argsort(before_ns, kind="stable")
        order = order[at[order] >= 0]
        numbers, first = np.unique(at[order], return_index=True)
        only = np.full(len(at), -1, np.int64)
        only[order[first]] = numbers
        self._answered[numbers] = True
        return only


@dataclass(slots=True)
class TriggerJoin:
    """Finds the trigger of each event. State goes from one batch to the next, in bounded memory."""

    layout: Layout
    function_name: Callable[[int], str]
    names: TaskNames
    """Of tasks; grows while batches are read."""
    triggers: list[Trigger] = field(default_factory=lambda: [Trigger()])
    _books: dict[str, _Book] = field(default_factory=dict)
    _links: _Book = field(init=False)
    _index: dict[Trigger, int] = field(default_factory=dict)
    _tails: dict[tuple[str, ...], npt.NDArray[np.void]] = field(default_factory=dict)
    _tick: int = 0
    _wheel: int = 0

    def __post_init__(self) -> None:
        self._links = self._empty()
        self._tick, self._wheel = (self._intern(Trigger(context=name)) for name in CLOCKS)

    def restart(self) -> None:
        """Forgets the triggers taken so far, but not their numbers."""
        self._books.clear()
        self._tails.clear()
        self._links = self._empty()

    def _empty(self) -> _Book:
        return _Book(np.empty(0, self.layout.trigger))

    def _intern(self, trigger: Trigger) -> int:
        if trigger not in self._index:
            self._index[trigger] = len(self.triggers)
            self.triggers.append(trigger)
        return self._index[trigger]

    def _are(self, events: Events, names: Iterable[str]) -> npt.NDArray[np.bool_]:
        """Which events are of these kinds."""
        wanted = np.zeros(256, bool)
        wanted[[number for number, kind in self.layout.kinds.items() if kind.name in names]] = True
        found: npt.NDArray[np.bool_] = wanted[events["source"]]
        return found

    def add(self, records: Triggers) -> None:
        """Takes the triggers of a batch, before its events are joined."""
        for number in np.unique(records["source"]).tolist():
            kind = self.layout.kinds[number]
            mine = taken(records, records["source"] == number)
            if kind.links:
                self._links.add(mine, _link_keys(mine["tid"], mine["function"]))
                continue
            book = self._books.setdefault(kind.explains, self._empty())
            by_cpu = mine["object"] == 0
            keys = _object_keys(mine["object"], mine["function"])
            keys = np.where(by_cpu, mine["target_cpu"].astype(np.uint64), keys)
            book.add(mine, keys)

    def join(self, events: Events) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint64]]:
        """For each event the index of its trigger in ``triggers`` and when that acted, in ns."""
        index = np.zeros(len(events), np.uint32)
        time_ns = np.zeros(len(events), np.uint64)
        for name in self._books:
            chosen = np.flatnonzero(self._are(events, [name]))
            if len(chosen):
                self._join_book(name, events, chosen, index, time_ns)
        self._join_wakers(events, index)
        self._join_raisers(events, index)
        self._join_ticks(events, index)
        self._join_frames(
            events, index, time_ns, ("csd",), ("call_function", "call_function_single")
        )
        self._join_frames(events, index, time_ns, ("hrtimer", "timer_wheel"), ("local_timer",))
        return index, time_ns

    def _join_book(
        self,
        name: str,
        events: Events,
        chosen: Indices,
        index: npt.NDArray[np.uint32],
        time_ns: npt.NDArray[np.uint64],
    ) -> None:
        book = self._books[name]
        mine = taken(events, chosen)
        threaded = mine["flags"] & Flag.THREADED != 0
        objects = np.where(threaded, 0, mine["object"]).astype(np.uint64)
        keys = _object_keys(objects, mine["id"])
        keys[objects == 0] = mine["cpu"][objects == 0]
        before = mine["start_ns"].copy()
        linked = np.flatnonzero(threaded & (mine["level"] == _WORK_LEVEL))
        if len(linked):
            link = self._links.find(
                _link_keys(mine["tid"][linked], mine["id"][linked]), before[linked]
            )
            started = self._links.records[link]
            worked_on = _object_keys(started["object"], mine["id"][linked])
            keys[linked] = np.where(link >= 0, worked_on, 0)
            before[linked] = np.where(link >= 0, started["time_ns"], 0)
        find = book.find_once if name in _ANSWERED_ONCE else book.find
        at = find(keys, before)
        found = np.flatnonzero(at >= 0)
        if len(found):
            records = taken(book.records, at[found])
            index[chosen[found]] = self._numbers(records)
            time_ns[chosen[found]] = records["time_ns"]

    def _numbers(self, records: Triggers) -> npt.NDArray[np.uint32]:
        origins = self._origins(records)
        interner = Interner(lambda row: self._intern(self._trigger(records[row], origins, row)))
        return interner.numbers(
            [
                records["tid"].astype(np.uint64),
                records["cpu"].astype(np.uint64) << np.uint64(8)
                | records["context"].astype(np.uint64),
                records["work_function"],
                records["stack"].astype(np.uint64),
                origins["tid"].astype(np.uint64) << np.uint64(8)
                | origins["context"].astype(np.uint64),
                self.names.places(records["tid"], records["time_ns"]) << np.uint64(8)
                | self.names.places(origins["tid"], origins["time_ns"]),
            ]
        )

    def _origins(self, records: Triggers) -> Triggers:
        """Who queued the work item that each sender was executing; zeros where there is none."""
        origins = np.zeros(len(records), self.layout.trigger)
        book = self._books.get("work")
        working = np.flatnonzero(records["work"])
        if book is not None and len(working):
            queued = _object_keys(records["work"], records["work_function"])[working]
            at = book.find(queued, records["time_ns"][working])
            origins[working[at >= 0]] = book.records[at[at >= 0]]
        return origins

    def _trigger(self, record: np.void, origins: Triggers, row: int) -> Trigger:
        stack = int(record["stack"])
        about: dict[str, Any] = {
            "cpu": int(record["cpu"]),
            "stack": stack if stack != 0xFFFFFFFF else -1,
        }
        if record["context"] != _TASK:
            return Trigger(context=_CONTEXTS[int(record["context"])], **about)
        tid = int(record["tid"])
        if not tid:
            return Trigger(context="the idle loop", **about)
        work = self.function_name(int(record["work_function"])) if record["work_function"] else ""
        origin = origins[row]
        queued = bool(origin["tid"]) and origin["context"] == _TASK
        return Trigger(
            task=self.names.name(tid, int(record["time_ns"])),
            tid=tid,
            work=work,
            origin=self._task_label(origin) if queued else "",
            **about,
        )

    def _task_label(self, record: np.void) -> str:
        tid = int(record["tid"])
        return f"{self.names.name(tid, int(record['time_ns']))} {tid}"

    def _join_wakers(self, events: Events, index: npt.NDArray[np.uint32]) -> None:
        """Threads: who woke them, told with the event."""
        wakers = events["id"] >> np.uint64(32)
        chosen = np.flatnonzero(self._are(events, ["thread"]) & (wakers > 0))
        words, cpus = wakers[chosen], events["parent_id"][chosen]
        times = events["start_ns"][chosen]
        interner = Interner(
            lambda row: self._intern(self._woken_by(int(words[row]), cpus[row], int(times[row])))
        )
        places = self.names.places(words, times)
        index[chosen] = interner.numbers([words, cpus.astype(np.uint64), places])

    def _woken_by(self, waker: int, cpu: int, time_ns: int) -> Trigger:
        contextual = self.layout.wakers.get("CONTEXT", 1 << 32)
        if waker < contextual:
            return Trigger(self.names.name(waker, time_ns), waker, int(cpu))
        context = waker - contextual
        name = "the idle loop" if context == _TASK else _CONTEXTS[context]
        return Trigger(context=name, cpu=int(cpu))

    def _join_raisers(self, events: Events, index: npt.NDArray[np.uint32]) -> None:
        """Softirqs: what was running when they were raised, told with the event."""
        raiser = self.layout.dtype("noise_raiser")
        chosen = np.flatnonzero(
            self._are(events, ["softirq"])
            & (events["flags"] & Flag.THREADED == 0)
            & (events["object"] != 0)
        )
        if not len(chosen):
            return
        words = np.ascontiguousarray(events["object"][chosen])
        raisers = words.view(raiser)
        cpus, times = events["cpu"][chosen], events["start_ns"][chosen]
        interner = Interner(
            lambda row: self._intern(self._raised_by(raisers[row], int(cpus[row]), int(times[row])))
        )
        places = self.names.places(raisers["tid"], times)
        index[chosen] = interner.numbers([words, cpus.astype(np.uint64), places])

    def _raised_by(self, raiser: np.void, cpu: int, time_ns: int) -> Trigger:
        context = int(raiser["context"]) - 1
        tid = int(raiser["tid"])
        if context == _TASK:
            return (
                Trigger(self.names.name(tid, time_ns), tid, cpu)
                if tid
                else Trigger(context="the idle loop", cpu=cpu)
            )
        kind = self.layout.kinds[int(raiser["source"])]
        number = f" {int(raiser['id'])}" if kind.identity in ("irq", "softirq") else ""
        return Trigger(context=f"{kind.name}{number}", cpu=cpu)

    def _join_ticks(self, events: Events, index: npt.NDArray[np.uint32]) -> None:
        """The tick, and its timer where it serves the wheel."""
        index[self._are(events, ["timer_wheel"])] = self._wheel
        hrtimers = np.flatnonzero(self._are(events, ["hrtimer"]))
        for function in np.unique(events["id"][hrtimers]).tolist():
            if self.function_name(function) in TICK_FUNCTIONS:
                index[hrtimers[events["id"][hrtimers] == function]] = self._tick

    def _join_frames(
        self,
        events: Events,
        index: npt.NDArray[np.uint32],
        time_ns: npt.NDArray[np.uint64],
        inner: tuple[str, ...],
        outer: tuple[str, ...],
    ) -> None:
        """An interrupt has the trigger of the first thing that it ran."""
        inside = self._inside(events, index, time_ns, inner)
        around = np.flatnonzero(self._are(events, outer))
        for cpu in np.unique(events["cpu"][around]).tolist():
            first = taken(inside, inside["cpu"] == cpu)
            mine = around[events["cpu"][around] == cpu]
            if not len(first):
                continue
            first = taken(first, np.argsort(first["start_ns"], kind="stable"))
            starts = first["start_ns"]
            at = np.minimum(np.searchsorted(starts, events["start_ns"][mine]), len(first) - 1)
            ends = events["start_ns"][mine] + events["gross_ns"][mine]
            held = (starts[at] >= events["start_ns"][mine]) & (starts[at] < ends)
            index[mine[held]] = first["trigger"][at[held]]
            time_ns[mine[held]] = first["trigger_ns"][at[held]]

    def _inside(
        self,
        events: Events,
        index: npt.NDArray[np.uint32],
        time_ns: npt.NDArray[np.uint64],
        inner: tuple[str, ...],
    ) -> npt.NDArray[np.void]:
        """What ran inside of interrupts, with the last of the batch before: the interrupt that
        held it may only come now."""
        chosen = np.flatnonzero(self._are(events, inner))
        fresh = np.zeros(len(chosen), _INSIDE)
        for name in ("cpu", "start_ns"):
            fresh[name] = events[name][chosen]
        fresh["trigger"], fresh["trigger_ns"] = index[chosen], time_ns[chosen]
        inside = joined([self._tails.get(inner, fresh[:0]), fresh])
        if len(inside):
            since = max(int(inside["start_ns"].max()) - RECENT_NS, 0)
            self._tails[inner] = taken(inside, inside["start_ns"] >= since)
        return inside


def _object_keys(
    objects: npt.NDArray[np.uint64], functions: npt.NDArray[np.uint64]
) -> npt.NDArray[np.uint64]:
    """What a trigger and its event have in common: an object can be used again for another
    function, and then the two have nothing to do with each other."""
    return objects ^ (functions * _SPREAD)


def _link_keys(
    tids: npt.NDArray[np.uint32], functions: npt.NDArray[np.uint64]
) -> npt.NDArray[np.uint64]:
    """What the beginning of a work item and its event have in common."""
    return functions ^ (tids.astype(np.uint64) << np.uint64(40))
