"""Tells where the time of each victim thread went, from what the kernel side records.

Its time is cut by waits with their beginning and end, for how long it slept before, when it was
born and when it ended. What is left is time on a CPU. Of that, and of its waits, the interruptions
take their part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Set
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from noisetop import _tables
from noisetop._tables import Groups, ThreadTimes, add_up
from noisetop.events.delays import DelayFinder, Ran
from noisetop.events.interruption import (
    INTERRUPTION,
    SIDE_LEVEL,
    UNATTRIBUTED,
    Flag,
    Interruptions,
    Source,
)
from noisetop.events.layout import Events, Layout
from noisetop.events.origin import Origin
from noisetop.events.source_names import Namer
from noisetop.events.task_names import TaskNames
from noisetop.events.victim_time import VictimTime
from noisetop.tables.group_sums import TOTAL, no_sums, widened
from noisetop.tables.intervals import Moments, Spans
from noisetop.tables.rows import joined, select
from noisetop.tables.small_numbers import occurring

SWITCH_NS = 20_000
"""What nothing accounts for in a wait belongs to the switches around it, up to this."""
_THREAD = "thread"
_THROTTLED = Source(("thread", "throttled"))
_SOFTIRQ_LEVEL = 2
_KINDS = {
    "woken": _tables.WOKEN,
    "throttled": _tables.THROTTLED,
    "blocked": _tables.BLOCKED,
    "exited": _tables.EXITED,
}
"""What a record tells, by the name of its ``enum noise_wait``; the others: that it waited."""
_NOISE = tuple(
    (int(origin), origin.label)
    for origin in Origin
    if origin not in (Origin.SELF, Origin.UNATTRIBUTED)
)
_SELF, _UNATTRIBUTED = int(Origin.SELF), int(Origin.UNATTRIBUTED)
_ROW_FLAGS = int(Flag.OUTERMOST | Flag.CONTINUED)
"""Of rows for what nothing accounts for; an enum takes long where there are many."""
_Bools = npt.NDArray[np.bool_]
_RAN_ON = np.dtype([("cpu", np.int64), ("ns", np.int64)])


class _Time(NamedTuple):
    """What ThreadTimes.close() tells of one thread."""

    tid: int
    wall_ns: int
    blocked_ns: int
    delay_ns: int
    throttled_ns: int
    cpu: int
    cpus: int


@dataclass(slots=True)
class _Loss:
    """What others took from one thread since the last close."""

    disturbed: Counter[int] = field(default_factory=Counter)
    """On its CPU, by origin."""
    delayed: Counter[int] = field(default_factory=Counter)
    """In its waits, by origin."""
    contention: Counter[Source] = field(default_factory=Counter)
    throttled_ns: int = 0
    unattributed_ns: int = 0

    def delay(self, rival: Source | None, origin: int | None, ns: int) -> None:
        """Part of a wait: another task ran, or an interruption of some origin."""
        if origin is not None:
            self.delayed[origin] += ns
        elif rival == _THROTTLED:
            self.throttled_ns += ns
        elif rival is not None:
            self.contention[rival] += ns


@dataclass(slots=True)
class VictimBook:
    """Takes interruptions and waits, and tells where the time of each victim went."""

    layout: Layout
    sources: list[Source]
    names: TaskNames
    start_ns: int = 0
    """Of the window."""
    follows: bool = False
    """All CPUs of a victim are watched: a first wake-up ends a sleep. Else it comes from there."""
    _finder: DelayFinder = field(default_factory=DelayFinder)
    _times: ThreadTimes = field(init=False)
    _losses: dict[int, _Loss] = field(default_factory=dict)
    _waits: Events = field(init=False)
    """Those that are not settled."""
    _told_until: dict[int, int] = field(default_factory=dict)
    """By CPU: up to when unattributed time has rows."""
    told: dict[int, VictimTime] = field(default_factory=dict)
    """By the last close(), by tid."""

    def __post_init__(self) -> None:
        self.restart(self.start_ns, follows=self.follows)

    def restart(self, start_ns: int, *, follows: bool) -> None:
        """Forgets everything; a window begins."""
        self.start_ns = start_ns
        self.follows = follows
        self._finder = DelayFinder()
        self._times = ThreadTimes(start_ns, follows, self.layout.slept_new or 0)
        self._losses.clear()
        self._waits = np.empty(0, self.layout.event)
        self._told_until.clear()
        self.told.clear()

    def forget(
        self,
        namer: Namer,
        told_as: Callable[[Source], Source],
        is_alive: Callable[[int], bool],
    ) -> None:
        """``sources`` is another list from now on, in which sources are what ``told_as`` says.
        Right after close(): threads that are gone and whose end was not told are forgotten."""
        numbers = np.zeros(len(self.sources), np.uint32)
        for number in self._finder.sources():
            numbers[number] = namer.number_of(told_as(self.sources[number]))
        self._finder.renumber(numbers)
        self.sources = namer.sources
        waiting = set(self._waits["tid"].tolist())
        gone = [tid for tid in self.living if tid not in waiting and not is_alive(tid)]
        self._times.forget((np.array(gone, np.uint64),))

    def add(self, table: Interruptions, waits: Events) -> None:
        """Takes interruptions, whose origins are known, and waits in the order of their end."""
        self._finder.add(table)
        mine = (table["tid"] == table["victim_tid"]) & (table["victim_tid"] != 0)
        mine &= (table["level"] >= _SOFTIRQ_LEVEL) & (table["level"] != SIDE_LEVEL)
        rows = np.flatnonzero(mine)
        victims, cpus, origins, net = (
            table[field].take(rows) for field in ("victim_tid", "cpu", "origin", "net_ns")
        )
        self._times.ran((victims, cpus))
        for tid, origin, net_ns in _sums(victims, origins, net):
            self._loss(tid).disturbed[origin] += net_ns
        self._waits = joined([self._waits, waits])

    def settle(
        self, until_ns: int | None, still: Interruptions | None = None, waits: Events | None = None
    ) -> Interruptions:
        """Accounts the waits that ended by then, None: all. ``still`` is what had not ended then,
        and ``waits`` those that go on now: of these the part up to then is accounted. Returns rows
        for what nothing accounts for."""
        # Rings of two CPUs are read one after the other: what belongs together is put in order.
        ends = self._waits["start_ns"] + self._waits["gross_ns"]
        due = select(self._waits, np.argsort(ends, kind="stable"))
        going_on = due[:0]
        if until_ns is not None:
            ended = due["start_ns"] + due["gross_ns"] <= until_ns
            due, self._waits = select(due, ended), select(due, ~ended)
            if waits is not None:
                going_on = self._cut(joined([self._waits, waits]), until_ns)
        else:
            self._waits = going_on
        finder = self._finder
        if still is not None and len(still):
            finder = finder.with_rows(still)
        rows = self._account(finder, due)
        self._account(finder, going_on)  # their rows come when they end
        if len(due):
            self._finder.forget(int((due["start_ns"] + due["gross_ns"]).max()))
        return np.array(rows, INTERRUPTION) if rows else np.empty(0, INTERRUPTION)

    def _cut(self, waits: Events, until_ns: int) -> Events:
        """Those that had begun at a moment, up to it."""
        begun = select(waits, waits["start_ns"] < until_ns).copy()
        begun["gross_ns"] = np.uint64(until_ns) - begun["start_ns"]
        begun["level"] |= np.uint8(self.layout.open_mark)
        return begun

    def _loss(self, tid: int) -> _Loss:
        if tid not in self._losses:
            self._losses[tid] = _Loss()
        return self._losses[tid]

    def _account(self, finder: DelayFinder, waits: Events) -> list[tuple[int, ...]]:
        """Accounts records in their order. Returns rows for what nothing accounts for."""
        kinds = np.full(256, _tables.WAITED, np.uint8)
        for number, reason in enumerate(self.layout.wait_reasons):
            kinds[[number, number | self.layout.open_mark]] = _KINDS.get(reason, _tables.WAITED)
        starts, slept = waits["start_ns"], waits["object"]
        ends = starts + waits["gross_ns"]
        begins = np.empty(len(waits), np.uint64)
        reasons = kinds[waits["level"]]
        self._times.account((waits["tid"], waits["cpu"], starts, ends, reasons, slept), begins)
        found = begins < ends
        rows: list[tuple[int, ...]] = []
        for cpu in occurring(waits["cpu"][found]):
            here = np.flatnonzero(found & (waits["cpu"] == cpu))
            quota = reasons[here] == _tables.THROTTLED
            rows += self._attribute(finder, select(waits, here), quota, begins[here], ends[here])
        return rows

    def _attribute(
        self, finder: DelayFinder, waits: Events, quota: _Bools, begins: Moments, ends: Moments
    ) -> list[tuple[int, ...]]:
        """Adds what took the time of waits on one CPU. ``quota``: whether one caused the wait."""
        spans = Spans.of(begins, ends)
        ran = finder.during(int(waits["cpu"][0]), spans, self._kinds)
        competing = bytes(isinstance(kind, Source) for kind in ran.kinds)
        of_wait, stands, begins, ends = self._cut_at_idle(ran, quota, begins, ends)
        waits = select(waits, of_wait)
        owners = waits["tid"].astype(np.uint64) << np.uint64(1) | stands
        left = np.empty(len(waits), np.uint64)
        found = _tables.shares((owners, begins, ends), ran.columns, competing, SWITCH_NS, left)
        for owner, kind, ns in np.frombuffer(found, np.int64).reshape(-1, 3).tolist():
            loss = self._loss(owner >> 1)
            if kind == len(ran.kinds) or (ran.kinds[kind] == _THROTTLED and not owner & 1):
                loss.unattributed_ns += ns
            else:
                loss.delay(*self._seen_by(owner >> 1, ran.kinds[kind]), ns)
        unknown = (left > SWITCH_NS) & (waits["level"] & self.layout.open_mark == 0)
        unknown &= ~Flag.CONTINUED.among(waits["flags"])  # it goes on, on another CPU
        places = np.flatnonzero(unknown)
        if not len(places):
            return []
        gaps = ran.gaps(spans.first_ns, spans.last_ns)
        return self._rows(select(waits, places), ends[places], gaps)

    def _cut_at_idle(
        self, ran: Ran, quota: _Bools, begins: Moments, ends: Moments
    ) -> tuple[npt.NDArray[np.int64], _Bools, Moments, Moments]:
        """The waits in parts: of which wait, whether the idle task stands for a quota in it, begin
        and end. One that is woken on an idle CPU comes next: while the idle task that ran already
        goes on, no quota keeps it, whoever else has one."""
        every = np.arange(len(begins))
        if _THROTTLED not in ran.kinds:
            return every, np.ones(len(begins), bool), begins, ends
        numbers = np.unique(ran.table["source"]).tolist()
        quotas = [number for number in numbers if self.sources[number] == _THROTTLED]
        idle = select(ran.table, np.isin(ran.table["source"], quotas))
        starts = idle["start_ns"]
        until = starts + idle["gross_ns"]
        last = np.searchsorted(starts, begins, "left") - 1
        woken = ~quota & (last >= 0) & (begins < until[last])
        cut = np.where(woken, np.minimum(until[last], ends), begins)
        rest = cut < ends
        of_wait = np.concatenate([every[woken], every[rest]])
        stands = np.concatenate([np.zeros(int(woken.sum()), bool), np.ones(int(rest.sum()), bool)])
        firsts = np.concatenate([begins[woken], cut[rest]])
        lasts = np.concatenate([cut[woken], ends[rest]])
        order = np.argsort(lasts, kind="stable")
        return of_wait[order], stands[order], firsts[order], lasts[order]

    def _kinds(self, table: npt.NDArray[np.void]) -> tuple[list[Source | tuple[int, int]], Moments]:
        """What can take the time of a wait: a task that competes, or the origin of an interruption
        and, if that is its victim, whom it delayed. And which of these each row is."""
        victims = np.where(table["origin"] == _SELF, table["victim_tid"], 0)
        columns = table["source"], table["tid"], table["origin"], victims.astype(np.uint32)
        places = np.empty(len(table), np.uint32)
        fresh = Groups(len(columns)).numbers(columns, places)
        numbers: dict[Source | tuple[int, int], int] = {}
        of_place = [
            numbers.setdefault(self._kind(*(int(column[row]) for column in columns)), len(numbers))
            for row in fresh
        ]
        return list(numbers), np.array(of_place, np.uint64).take(places)

    def _kind(self, source: int, tid: int, origin: int, victim: int) -> Source | tuple[int, int]:
        path, about = self.sources[source], self.names.infos.get(tid)
        is_task = path.noise_class == _THREAD and not (about and about.kernel)
        return path if is_task else (origin, victim)

    def _seen_by(
        self, tid: int, kind: Source | tuple[int, int]
    ) -> tuple[Source | None, int | None]:
        """The same for one thread: who competes with it, or an origin."""
        if isinstance(kind, Source):
            return kind, None
        origin, victim = kind
        if victim and victim != tid:
            return None, Origin.PROGRAM if self._same_process(tid, victim) else Origin.OTHERS
        return None, origin

    def _same_process(self, tid: int, other: int) -> bool:
        one, two = self.names.infos.get(tid), self.names.infos.get(other)
        return one is not None and two is not None and one.tgid == two.tgid

    def _rows(self, waits: Events, ends: Moments, gaps: Moments) -> list[tuple[int, ...]]:
        """For what nothing accounts for in waits that have ended, each moment of a CPU once."""
        rows = []
        long = gaps[gaps[:, 1] - gaps[:, 0] > SWITCH_NS]
        columns = (waits["cpu"], waits["tid"], waits["start_ns"], ends)
        for cpu, tid, start_ns, end_ns in zip(
            *(column.tolist() for column in columns), strict=True
        ):
            first = int(np.searchsorted(long[:, 1], np.uint64(start_ns), "right"))
            last = int(np.searchsorted(long[:, 0], np.uint64(end_ns), "left"))
            for begin, end in long[first:last].tolist():
                start = max(begin, start_ns, self._told_until.get(cpu, 0), self.start_ns)
                until = min(end, end_ns)
                if until - start > SWITCH_NS:
                    rows.append(self._row(cpu, tid, start, until - start))
                    self._told_until[cpu] = until
        return rows

    def _row(self, cpu: int, tid: int, start_ns: int, ns: int) -> tuple[int, ...]:
        source = self.sources.index(UNATTRIBUTED)
        return (start_ns, ns, ns, source, tid, 0, cpu, 0, _ROW_FLAGS, 0, 0, _UNATTRIBUTED)

    @property
    def living(self) -> Set[int]:
        """Right after close(): threads whose end was not told."""
        return set(np.frombuffer(self._times.tids(), np.uint64).tolist())

    def close(self, until_ns: int) -> dict[int, VictimTime]:
        """Where the time went since the last call, by tid; everything up to ``until_ns`` is
        settled. The result is in ``told`` as well."""
        threads, on_cpus = self._times.close(until_ns)
        ran_on = np.frombuffer(on_cpus, _RAN_ON).tolist()
        self.told.clear()
        first = 0
        for row in np.frombuffer(threads, np.int64).reshape(-1, len(_Time._fields)).tolist():
            time = _Time(*row)
            if time.wall_ns:
                loss = self._losses.get(time.tid) or _Loss()
                self.told[time.tid] = _told(time, loss, ran_on[first : first + time.cpus])
            first += time.cpus
        self._losses.clear()
        return dict(self.told)


def _told(time: _Time, loss: _Loss, ran_on: list[tuple[int, int]]) -> VictimTime:
    """The parts, which add up. What lost records leave contradictory is cut to the wall."""
    blocked_ns = min(time.blocked_ns, time.wall_ns - time.delay_ns)
    run_ns = time.wall_ns - time.delay_ns - blocked_ns
    noise = dict(loss.delayed)
    left_ns = run_ns
    for origin, net_ns in loss.disturbed.items():
        part_ns = min(net_ns, left_ns)
        noise[origin] = noise.get(origin, 0) + part_ns
        left_ns -= part_ns
    return VictimTime(
        tid=time.tid,
        wall_ns=time.wall_ns,
        on_cpu_ns=left_ns,
        noise_ns={label: noise.get(origin, 0) for origin, label in _NOISE},
        self_ns=noise.get(_SELF, 0),
        contention=dict(loss.contention),
        throttled_ns=time.throttled_ns + loss.throttled_ns,
        blocked_ns=blocked_ns,
        unattributed_ns=loss.unattributed_ns + noise.get(_UNATTRIBUTED, 0),
        run_ns=run_ns,
        delay_ns=time.delay_ns,
        ran_on=_ran_on(time.cpu, run_ns, ran_on),
    )


def _ran_on(cpu: int, run_ns: int, parts: list[tuple[int, int]]) -> dict[int, int]:
    """What is told of no CPU was on the one where it is; never more than all of it."""
    told = dict(parts)
    told[cpu] = told.get(cpu, 0) + max(run_ns - sum(told.values()), 0)
    ran_on: dict[int, int] = {}
    for on, ns in told.items():
        part_ns = min(ns, run_ns)
        run_ns -= part_ns
        if on >= 0 and part_ns:
            ran_on[on] = part_ns
    return ran_on


def _sums(
    victims: npt.NDArray[np.uint32], origins: npt.NDArray[np.uint8], net: Moments
) -> list[tuple[int, int, int]]:
    """Victim, origin and net time in ns of each pair that occurs."""
    places = np.empty(len(net), np.uint32)
    firsts = Groups(2).numbers((victims, origins), places)
    sums = widened(no_sums(), len(firsts))
    add_up((places, net, net), sums, None)
    pairs = victims[firsts].tolist(), origins[firsts].tolist()
    return list(zip(*pairs, sums[:, TOTAL].tolist(), strict=True))
