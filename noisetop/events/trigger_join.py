"""Joins what was sent, armed and queued with what ran later."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from noisetop._tables import AsOfJoin
from noisetop.events.interruption import Flag
from noisetop.events.layout import Events, Layout
from noisetop.events.task_names import TaskNames
from noisetop.events.trigger import CLOCKS, IDLE_LOOP, Trigger
from noisetop.events.victim_stacks import NO_STACK, TRIGGER_OF, VictimStacks
from noisetop.tables.dictionary import Column, DictionaryEncoder
from noisetop.tables.nesting import first_inside
from noisetop.tables.rows import as_dict, joined, select
from noisetop.tables.small_numbers import occurring

Triggers = npt.NDArray[np.void]
"""Structured array of ``struct noise_trigger``."""
Indices = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]

TICK_FUNCTIONS = ("tick_nohz_handler", "tick_sched_timer")
_CONTEXTS = {"SOFTIRQ": "a softirq", "IRQ": "an interrupt", "NMI": "an NMI", "UNKNOWN": "unknown"}
"""What a CPU was serving, by the names of ``enum noise_context``."""
RECENT_NS = 1_000_000_000
"""Events that reach back no further than this before the newest trigger find theirs in any case."""
_REMEMBERED = 1 << 10
"""Older triggers that may be answered still."""
_TIMERS_REMEMBERED = 1 << 14
"""Timers are armed long before they expire; what is sent or queued is answered within moments."""
_TIMERS = ("hrtimer", "timer")
_ANSWERED_ONCE = ("csd",)
"""Kinds of events each of which has a trigger of its own."""
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_INSIDE = np.dtype([("start_ns", "<u8"), ("trigger_ns", "<u8"), ("trigger", "<u4"), ("cpu", "<u2")])


class _Join:
    """Triggers of one kind of event, found again by object and time."""

    def __init__(self, trigger: np.dtype[np.void], remembered: int = _REMEMBERED) -> None:
        self._trigger = trigger
        self._book = AsOfJoin(trigger.itemsize, RECENT_NS, remembered)

    def add(self, records: Triggers, keys: Keys) -> None:
        """Adds triggers; ``keys`` is what each has in common with its event."""
        self._book.add((keys, records["time_ns"]), records.view(np.uint8))

    def find(
        self, keys: Keys, before_ns: Keys, *, once: bool = False
    ) -> tuple[npt.NDArray[np.bool_], Triggers]:
        """The last one with this key up to that moment, and for which keys there is one.

        ``once`` leaves a trigger to the first event that it is found for, in whichever batch: what
        caused a later one is missing, and to name nobody is better than to name the wrong one.
        """
        found = np.zeros(len(keys), self._trigger)
        known = self._book.find((keys, before_ns), once, found.view(np.uint8))
        return np.frombuffer(known, np.bool_), found


@dataclass(slots=True)
class _Batch:
    """Events while they are joined."""

    events: Events
    kinds: dict[str, int]
    """Numbers by name."""
    index: npt.NDArray[np.uint32] = field(init=False)
    """The trigger of each."""
    time_ns: Keys = field(init=False)
    """When that acted."""
    _sources: npt.NDArray[np.uint8] = field(init=False)

    def __post_init__(self) -> None:
        self.index = np.zeros(len(self.events), np.uint32)
        self.time_ns = np.zeros(len(self.events), np.uint64)
        self._sources = np.ascontiguousarray(self.events["source"])

    def rows(self, *names: str) -> Indices:
        """Which events are of these kinds."""
        found = np.zeros(len(self.events), bool)
        for name in names:
            if name in self.kinds:
                found |= self._sources == self.kinds[name]
        return np.flatnonzero(found)


@dataclass(slots=True)
class TriggerJoin:
    """Finds the trigger of each event. State goes from one batch to the next, in bounded memory."""

    layout: Layout
    function_name: Callable[[int], str]
    names: TaskNames
    """Of tasks; grows while batches are read."""
    triggers: list[Trigger] = field(default_factory=lambda: [Trigger()])
    victim_stacks: VictimStacks = field(default_factory=VictimStacks)
    _joins: dict[str, _Join] = field(default_factory=dict)
    _links: _Join = field(init=False)
    _index: dict[Trigger, int] = field(default_factory=dict)
    _tails: dict[tuple[str, ...], npt.NDArray[np.void]] = field(default_factory=dict)
    _encoders: dict[str, DictionaryEncoder] = field(default_factory=dict)
    _named: int = 0
    """Version of the names that these were learned with."""
    _are_ticks: DictionaryEncoder = field(default_factory=lambda: DictionaryEncoder(1))
    """By function of a timer: 1 for one of the tick."""
    _tick: int = 0
    _wheel: int = 0
    _task: int = field(init=False)
    """``NOISE_CONTEXT_TASK``."""
    _root_source: int | None = field(init=False)
    """``NOISE_RAISER_ROOT_SOURCE``; None: the records do not tell roots."""
    _root_column: tuple[str, ...] = ()
    _has_user_stacks: bool = False
    _served: dict[int, str] = field(init=False)
    """What a CPU was serving, by the value of ``enum noise_context``."""

    def __post_init__(self) -> None:
        contexts = self.layout.contexts
        self._task = contexts["TASK"]
        self._served = {
            value: _CONTEXTS.get(name, name.lower()) for name, value in contexts.items()
        }
        self._links = _Join(self.layout.trigger)
        self._root_source = self.layout.raiser_roots.get("SOURCE")
        columns = self.layout.trigger.names or ()
        self._root_column = ("root",) if "root" in columns else ()
        self._has_user_stacks = "user_stack" in columns
        self._tick, self._wheel = (self._intern(Trigger(context=name)) for name in CLOCKS)

    def restart(self) -> None:
        """Forgets the triggers taken so far, but not their numbers."""
        self._joins.clear()
        self._tails.clear()
        self.victim_stacks.clear()
        self._links = _Join(self.layout.trigger)

    def forget(self) -> None:
        """Begins with a new list of triggers; what join() returns from now on indexes that one."""
        old, self.triggers, self._index = self.triggers, [Trigger()], {}
        self._tick, self._wheel = (self._intern(Trigger(context=name)) for name in CLOCKS)
        self._encoders.clear()
        for inner, tail in self._tails.items():
            numbers = [self._intern(old[number]) if number else 0 for number in tail["trigger"]]
            self._tails[inner] = tail.copy()
            self._tails[inner]["trigger"] = numbers

    def _intern(self, trigger: Trigger) -> int:
        if trigger not in self._index:
            self._index[trigger] = len(self.triggers)
            self.triggers.append(trigger)
        return self._index[trigger]

    def add(self, records: Triggers) -> None:
        """Takes the triggers of a batch, before its events are joined."""
        for number in occurring(records["source"]):
            kind = self.layout.kinds[number]
            mine = select(records, records["source"] == number)
            if kind.trigger_of == TRIGGER_OF:
                self.victim_stacks.add(mine)
                continue
            if kind.links:
                self._links.add(mine, _link_keys(mine["tid"], mine["function"]))
                continue
            join = self._join_of(kind.trigger_of)
            by_cpu = mine["object"] == 0
            keys = _object_keys(mine["object"], mine["function"])
            keys = np.where(by_cpu, mine["target_cpu"].astype(np.uint64), keys)
            join.add(mine, keys)

    def _join_of(self, name: str) -> _Join:
        """Of the events of that kind."""
        if name not in self._joins:
            remembered = _TIMERS_REMEMBERED if name in _TIMERS else _REMEMBERED
            self._joins[name] = _Join(self.layout.trigger, remembered)
        return self._joins[name]

    def join(
        self, events: Events, called: tuple[Indices, Triggers] | None = None
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint64]]:
        """For each event the index of its trigger in ``triggers`` and when that acted, in ns.
        ``called``: events whose triggers are known, and these."""
        batch = _Batch(events, {kind.name: number for number, kind in self.layout.kinds.items()})
        for name in self._joins:
            self._join_objects(batch, name)
        self._join_wakers(batch)
        self._join_raisers(batch)
        self._join_ticks(batch)
        self._join_frames(batch, ("csd",), ("call_function", "call_function_single"))
        self._join_frames(batch, ("hrtimer", "timer_wheel"), ("local_timer",))
        if called is not None and len(called[0]):
            batch.index[called[0]] = self._numbers(called[1])
            batch.time_ns[called[0]] = called[1]["time_ns"]
        return batch.index, batch.time_ns

    def _join_objects(self, batch: _Batch, name: str) -> None:
        chosen = batch.rows(name)
        if not len(chosen):
            return
        mine = select(batch.events, chosen)
        levels = mine["level"] & np.uint8(0xFF ^ self.layout.entry_mark)
        threaded = Flag.THREADED.among(mine["flags"])
        objects = np.where(threaded, 0, mine["object"]).astype(np.uint64)
        keys = _object_keys(objects, mine["id"])
        keys[objects == 0] = mine["cpu"][objects == 0]
        before = mine["start_ns"].copy()
        linked = np.flatnonzero(threaded & (levels == self.layout.levels["WORK"]))
        if len(linked):
            known, started = self._links.find(
                _link_keys(mine["tid"][linked], mine["id"][linked]), before[linked]
            )
            worked_on = _object_keys(started["object"], mine["id"][linked])
            keys[linked] = np.where(known, worked_on, 0)
            before[linked] = started["time_ns"]
        known, records = self._joins[name].find(keys, before, once=name in _ANSWERED_ONCE)
        found, records = chosen[known], select(records, known)
        if len(found):
            batch.index[found] = self._numbers(records)
            batch.time_ns[found] = records["time_ns"]

    def _numbers(self, records: Triggers) -> npt.NDArray[np.uint32]:
        origins = self._origins(records)
        names = self.names.places(records["tid"], records["time_ns"]) << np.uint64(8)
        names |= self.names.places(origins["tid"], origins["time_ns"])
        told = ("tid", "work_function", "stack", *self._root_column)
        where = records["cpu"].astype(np.uint64) << np.uint64(8) | records["context"]
        if self._has_user_stacks:
            where = where << np.uint64(32) | records["user_stack"]
        columns = [where, *(records[name] for name in told)]
        return self._interned(
            "acted",
            [*columns, origins["tid"], origins["context"], names],
            lambda row: self._trigger(as_dict(records[row]), origins[row]),
        )

    def _interned(
        self, how: str, columns: Sequence[Column], trigger: Callable[[int], Trigger]
    ) -> npt.NDArray[np.uint32]:
        """Numbers of triggers that columns describe; ``trigger`` says which one a row is. A
        combination is asked for once, for as long as no task gets another name."""
        if self._named != self.names.version:
            self._encoders.clear()
            self._named = self.names.version
        encoder = self._encoders.get(how) or DictionaryEncoder(len(columns))
        self._encoders[how] = encoder
        return encoder.numbers(columns, lambda row: self._intern(trigger(row)))

    def _origins(self, records: Triggers) -> Triggers:
        """Who queued the work item that each sender was executing; zeros where there is none."""
        origins = np.zeros(len(records), self.layout.trigger)
        join = self._joins.get("work")
        working = np.flatnonzero(records["work"])
        if join is not None and len(working):
            queued = _object_keys(records["work"], records["work_function"])[working]
            _, origins[working] = join.find(queued, records["time_ns"][working])
        return origins

    def _trigger(self, record: Mapping[str, Any], origin: np.void) -> Trigger:
        about: dict[str, Any] = {"cpu": record["cpu"], "stack": _stack(record, "stack")}
        if record["context"] != self._task:
            root = record["root"] if self._root_column else 0
            context = self._served[record["context"]]
            return Trigger(context=context, **about, **self._began(root))
        tid = record["tid"]
        if not tid:
            return Trigger(context=IDLE_LOOP, **about)
        work = self.function_name(record["work_function"]) if record["work_function"] else ""
        queued = bool(origin["tid"]) and origin["context"] == self._task
        return Trigger(
            task=self.names.name(tid, record["time_ns"]),
            tid=tid,
            work=work,
            origin=self._task_label(origin) if queued else "",
            user_stack=_stack(record, "user_stack") if self._has_user_stacks else -1,
            **about,
        )

    def _task_label(self, record: np.void) -> str:
        tid = int(record["tid"])
        return f"{self.names.name(tid, int(record['time_ns']))} {tid}"

    def _join_wakers(self, batch: _Batch) -> None:
        """Threads: who woke them, told with the event."""
        threads = batch.rows("thread")
        wakers = batch.events["id"][threads] >> np.uint64(32)
        chosen, words = threads[wakers > 0], wakers[wakers > 0]
        cpus, times = batch.events["parent_id"][chosen], batch.events["start_ns"][chosen]
        batch.index[chosen] = self._interned(
            "woke",
            [words, cpus, self.names.places(words, times)],
            lambda row: self._woken_by(int(words[row]), cpus[row], int(times[row])),
        )

    def _woken_by(self, waker: int, cpu: int, time_ns: int) -> Trigger:
        contextual = self.layout.wakers.get("CONTEXT", 1 << 32)
        if waker < contextual:
            return Trigger(self.names.name(waker, time_ns), waker, int(cpu))
        context = waker - contextual
        name = IDLE_LOOP if context == self._task else self._served[context]
        return Trigger(context=name, cpu=int(cpu))

    def _join_raisers(self, batch: _Batch) -> None:
        """Softirqs: what was running when they were raised, told with the event."""
        chosen, events = batch.rows("softirq"), batch.events
        words = events["object"].take(chosen)
        told = ~Flag.THREADED.among(events["flags"].take(chosen)) & (words != 0)
        chosen, words = chosen[told], words[told]
        if not len(chosen):
            return
        raisers = words.view(self.layout.dtype("noise_raiser"))
        cpus, times = events["cpu"].take(chosen), events["start_ns"].take(chosen)
        batch.index[chosen] = self._interned(
            "raised",
            [words, cpus, self.names.places(raisers["tid"], times)],
            lambda row: self._raised_by(raisers[row], cpus[row], int(times[row])),
        )

    def _raised_by(self, raiser: np.void, on: np.uint16, time_ns: int) -> Trigger:
        cpu, context = int(on), int(raiser["context"]) - 1
        tid = int(raiser["tid"])
        if context == self._task:
            return (
                Trigger(self.names.name(tid, time_ns), tid, cpu)
                if tid
                else Trigger(context=IDLE_LOOP, cpu=cpu)
            )
        kind = self.layout.kinds[int(raiser["source"])]
        number = f" {int(raiser['id'])}" if kind.identity in ("irq", "softirq") else ""
        return Trigger(context=f"{kind.name}{number}", cpu=cpu, **self._began(tid))

    def _began(self, root: int) -> dict[str, Any]:
        """With what it began that a CPU served a softirq or an interrupt: a task or a class."""
        if self._root_source is None:
            return {}
        if root < self._root_source:
            return {"tid": root}
        return {"began": self.layout.kinds[root - self._root_source].noise_class}

    def _join_ticks(self, batch: _Batch) -> None:
        """The tick, and its timer where it serves the wheel."""
        batch.index[batch.rows("timer_wheel")] = self._wheel
        hrtimers = batch.rows("hrtimer")
        functions = batch.events["id"][hrtimers]
        are_ticks = self._are_ticks.numbers(
            (functions,), lambda row: self.function_name(int(functions[row])) in TICK_FUNCTIONS
        )
        batch.index[hrtimers[are_ticks != 0]] = self._tick

    def _join_frames(self, batch: _Batch, inner: tuple[str, ...], outer: tuple[str, ...]) -> None:
        """An interrupt has the trigger of the first thing that it ran."""
        chosen, around = batch.rows(*inner), batch.rows(*outer)
        fresh = np.zeros(len(chosen), _INSIDE)
        for name in ("cpu", "start_ns"):
            fresh[name] = batch.events[name][chosen]
        fresh["trigger"], fresh["trigger_ns"] = batch.index[chosen], batch.time_ns[chosen]
        inside = joined([self._tails.get(inner, fresh[:0]), fresh])
        at = first_inside(select(batch.events, around), inside)
        around, first = around[at >= 0], select(inside, at[at >= 0])
        batch.index[around], batch.time_ns[around] = first["trigger"], first["trigger_ns"]
        # The interrupt that holds it may only come with the next batch.
        waiting = inside["start_ns"] >= max(int(inside["start_ns"].max(initial=0)) - RECENT_NS, 0)
        waiting[at[at >= 0]] = False
        self._tails[inner] = select(inside, waiting)


def _stack(record: Mapping[str, Any], column: str) -> int:
    key: int = record[column]
    return key if key != NO_STACK else -1


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
