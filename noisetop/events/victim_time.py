"""Where the time of each victim thread went, to the nanosecond.

Its time is cut by what the kernel side tells: waits with their beginning and end, for how long it
slept before, when it was born and when it ended. What is left is time on a CPU. Of that, and of its
waits, the interruptions take their part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from noisetop._tables import Groups
from noisetop.events.delays import DelayFinder, Delays, Times
from noisetop.events.interruption import (
    INTERRUPTION,
    OTHER_TID,
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
from noisetop.tables.rows import select

SWITCH_NS = 20_000
"""What nothing accounts for in a wait belongs to the switches around it, up to this."""
ANY_TASK = "USERS"
"""``NOISE_VICTIMS_USERS``: whichever task is current is a victim, and may go where nobody looks."""
_THREAD = "thread"
_THROTTLED = Source(("thread", "throttled"))
_SOFTIRQ_LEVEL = 2
_CONTINUED = int(Flag.CONTINUED)
_NO_WAITS = ("blocked", "exited")
_NOISE = tuple(
    (origin, origin.label) for origin in Origin if origin not in (Origin.SELF, Origin.UNATTRIBUTED)
)
_AT_ONCE = 512
"""Waits whose causes are found in one go: that takes memory and time for each pair of a wait and of
a task that ran meanwhile."""


@dataclass(frozen=True, slots=True)
class VictimTime:
    """One thread in one period; the parts add up to ``wall_ns``."""

    tid: int
    wall_ns: int
    on_cpu_ns: int
    """Undisturbed."""
    noise_ns: Mapping[str, int]
    """Net time of interruptions by the label of their origin, but for the two below."""
    self_ns: int
    """Net time of self-inflicted interruptions."""
    contention: Mapping[Source, int]
    """In which another task had its CPU, by that."""
    throttled_ns: int
    blocked_ns: int
    unattributed_ns: int
    run_ns: int
    """On a CPU, interruptions included."""
    delay_ns: int
    """Runnable and not running."""
    ran_on: Mapping[int, int] = field(default_factory=dict)
    """``run_ns`` by CPU; what ran where is not known of all of it."""

    @property
    def contention_ns(self) -> int:
        """In which another task had its CPU."""
        return sum(self.contention.values())

    def told_as(self, name: Callable[[Source], Source]) -> VictimTime:
        """The same with other names for those that competed, which may be one for several."""
        contention: Counter[Source] = Counter()
        for source, ns in self.contention.items():
            contention[name(source)] += ns
        return replace(self, contention=dict(contention))

    def adds_up(self) -> bool:
        """Whether its parts are its wall."""
        parts = (self.on_cpu_ns, *self.noise_ns.values(), self.self_ns, self.contention_ns)
        more = (self.throttled_ns, self.blocked_ns, self.unattributed_ns)
        return sum(parts) + sum(more) == self.wall_ns and min(*parts, *more) >= 0


@dataclass(slots=True)
class _Account:
    """Of one thread, since the last close."""

    since_ns: int
    """Part of the wall that is not told yet begins here."""
    until_ns: int
    """Up to here it is known to have slept or waited."""
    alive: bool = True
    seen: bool = False
    """A wait or the end of it was told: what comes before the next one is known."""
    wall_ns: int = 0
    blocked_ns: int = 0
    delay_ns: int = 0
    throttled_ns: int = 0
    unattributed_ns: int = 0
    delayed: Counter[int] = field(default_factory=Counter)
    """By origin."""
    disturbed: Counter[int] = field(default_factory=Counter)
    """On its CPU, by origin."""
    contention: Counter[Source] = field(default_factory=Counter)
    cpu: int = -1
    """Where it runs; -1: not known."""
    ran_on: Counter[int] = field(default_factory=Counter)

    def ran(self, until_ns: int, cpu: int) -> None:
        """It ran up to a moment; after that it is on ``cpu``."""
        if self.alive and until_ns > self.until_ns:
            self.ran_on[cpu if self.cpu < 0 else self.cpu] += until_ns - self.until_ns
        self.cpu = cpu

    def block(self, start_ns: int, end_ns: int) -> None:
        start_ns = max(start_ns, self.until_ns)
        if end_ns > start_ns:
            self.blocked_ns += end_ns - start_ns
            self.until_ns = end_ns

    def born(self, now_ns: int) -> None:
        """Nothing before counts, since it ended or since the period began."""
        if self.seen and self.alive:
            return
        self.since_ns = max(self.since_ns, now_ns)
        self.alive, self.until_ns = True, max(self.until_ns, now_ns)

    def delay(self, rival: Source | None, origin: int | None, ns: int) -> None:
        """Part of a wait: another task ran, or an interruption of some origin."""
        if origin is not None:
            self.delayed[origin] += int(ns)
        elif rival == _THROTTLED:
            self.throttled_ns += int(ns)
        elif rival is not None:
            self.contention[rival] += int(ns)

    def end(self, now_ns: int) -> None:
        if self.alive:
            self.wall_ns += max(now_ns - self.since_ns, 0)
            self.alive, self.since_ns = False, now_ns


class _Record(NamedTuple):
    """A record of a wait."""

    tid: int
    cpu: int
    start_ns: int
    end_ns: int
    reason: str
    slept_ns: int
    is_open: bool
    is_moved: bool
    """It goes on, on another CPU."""


class _WaitPart(NamedTuple):
    """A wait, or the part of it that was not accounted before."""

    record: _Record
    account: _Account
    start_ns: int


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
    _accounts: dict[int, _Account] = field(default_factory=dict)
    _waits: list[_Record] = field(default_factory=list)
    _told_until: dict[int, int] = field(default_factory=dict)
    """By CPU: up to when unattributed time has rows."""
    told: dict[int, VictimTime] = field(default_factory=dict)
    """By the last close(), by tid."""
    _closed_ns: int = 0

    def restart(self, start_ns: int, *, follows: bool) -> None:
        """Forgets everything; a window begins."""
        self.start_ns = self._closed_ns = start_ns
        self.follows = follows
        self._finder = DelayFinder()
        self._accounts.clear()
        self._waits.clear()
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
        waiting = {one.tid for one in self._waits}
        for tid in [tid for tid in self._accounts if tid not in waiting and not is_alive(tid)]:
            del self._accounts[tid]

    def add(self, table: Interruptions, waits: Events) -> None:
        """Takes interruptions, whose origins are known, and waits in the order of their end."""
        self._finder.add(table)
        mine = (table["tid"] == table["victim_tid"]) & (table["victim_tid"] != 0)
        mine &= (table["level"] >= _SOFTIRQ_LEVEL) & (table["level"] != SIDE_LEVEL)
        for (tid, origin), (net_ns, cpu) in _sums(select(table, mine)).items():
            account = self._account(tid)
            account.disturbed[origin] += net_ns
            account.cpu = cpu if account.cpu < 0 else account.cpu
        self._waits += self._records(waits)

    def settle(
        self, until_ns: int | None, still: Interruptions | None = None, waits: Events | None = None
    ) -> Interruptions:
        """Accounts the waits that ended by then, None: all. ``still`` is what had not ended then,
        and ``waits`` those that go on now: of these the part up to then is accounted. Returns rows
        for what nothing accounts for."""
        # Rings of two CPUs are read one after the other: what belongs together is put in order.
        self._waits.sort(key=lambda one: one.end_ns)
        due = [one for one in self._waits if until_ns is None or one.end_ns <= until_ns]
        later = [one for one in self._waits if until_ns is not None and one.end_ns > until_ns]
        self._waits, going_on = later, []
        if waits is not None and until_ns is not None:
            some = [one for one in (*later, *self._records(waits)) if one.start_ns < until_ns]
            going_on = [one._replace(end_ns=until_ns, is_open=True) for one in some]
        finder = self._finder
        if still is not None and len(still):
            finder = finder.with_rows(still)
        rows = self._account_all(finder, due)
        self._account_all(finder, going_on)  # their rows come when they end
        if due:
            self._finder.forget(max(one.end_ns for one in due))
        return np.array(rows, INTERRUPTION) if rows else np.empty(0, INTERRUPTION)

    def _records(self, waits: Events) -> Iterable[_Record]:
        opened = self.layout.open_mark
        reasons = self.layout.wait_reasons
        names = ("tid", "cpu", "start_ns", "gross_ns", "level", "object", "flags")
        for tid, cpu, start, gross, level, slept, flags in zip(
            *(waits[name].tolist() for name in names), strict=True
        ):
            going_on = bool(level & opened)
            yield _Record(
                tid, cpu, start, start + gross, reasons[level & ~opened], slept, going_on,
                bool(flags & _CONTINUED) and not going_on,
            )  # fmt: skip

    def _account(self, tid: int) -> _Account:
        if tid not in self._accounts:
            self._accounts[tid] = _Account(self._closed_ns, self._closed_ns)
        return self._accounts[tid]

    def _begin(self, one: _Record) -> None:
        """Accounts what came before a wait, or what is none."""
        account = self._account(one.tid)
        comes = not account.seen and one.reason == "woken" and not one.slept_ns
        if one.reason == "blocked":
            account.ran(one.start_ns, one.cpu)
            account.block(one.start_ns, one.end_ns)
        elif one.reason != "exited" and (
            not account.alive
            or one.slept_ns == self.layout.slept_new
            or (comes and not self.follows)
        ):
            account.born(one.start_ns)
            account.cpu = one.cpu
        elif one.slept_ns:
            account.ran(one.start_ns - one.slept_ns, one.cpu)
            account.block(one.start_ns - one.slept_ns, one.start_ns)
        elif comes:
            account.block(account.until_ns, one.start_ns)
            account.cpu = one.cpu
        else:
            account.ran(one.start_ns, one.cpu)
        account.seen = True
        if one.reason == "exited":
            account.end(one.end_ns)

    def _account_all(
        self, finder: DelayFinder, records: Sequence[_Record]
    ) -> list[tuple[int, ...]]:
        """Accounts records in their order. Returns rows for what nothing accounts for."""
        by_cpu: dict[int, list[_WaitPart]] = {}
        for one in records:
            self._begin(one)
            if one.reason not in _NO_WAITS and (part := self._wait(one)) is not None:
                by_cpu.setdefault(one.cpu, []).append(part)
        return [
            row
            for cpu, some in by_cpu.items()
            for first in range(0, len(some), _AT_ONCE)
            for row in self._attribute(finder, cpu, some[first : first + _AT_ONCE])
        ]

    def _wait(self, one: _Record) -> _WaitPart | None:
        """Accounts a wait as such; the part of it whose causes are to be found."""
        account = self._account(one.tid)
        start_ns = max(one.start_ns, account.until_ns)
        if one.end_ns <= start_ns:
            return None
        account.until_ns = one.end_ns
        account.delay_ns += one.end_ns - start_ns
        if one.reason == "throttled":
            account.throttled_ns += one.end_ns - start_ns
            return None
        return _WaitPart(one, account, start_ns)

    def _attribute(
        self, finder: DelayFinder, cpu: int, parts: Sequence[_WaitPart]
    ) -> list[tuple[int, ...]]:
        """Adds what took the time of waits on one CPU."""
        starts = np.array([one.start_ns for one in parts], np.int64)
        ends = np.array([one.record.end_ns for one in parts], np.int64)
        delays = finder.delays(cpu, starts, ends, self._kinds)
        left = ends - starts - delays.ns.sum(axis=1)
        self._add_delays(parts, delays, left)
        long = delays.gaps[delays.gaps[:, 1] - delays.gaps[:, 0] > SWITCH_NS]
        rows: list[tuple[int, ...]] = []
        for at in np.flatnonzero(left > SWITCH_NS).tolist():
            rows += self._rows(parts[at].record, long)
        return rows

    def _add_delays(self, parts: Sequence[_WaitPart], delays: Delays, left: Times) -> None:
        """Adds what took the time of waits, and what is ``left`` of each."""
        accounts = {id(one.account): one for one in parts}
        places = {key: place for place, key in enumerate(accounts)}
        place = np.array([places[id(one.account)] for one in parts], np.int64)
        competing = np.array([isinstance(kind, Source) for kind in delays.kinds], bool)
        rivals = np.where(competing, delays.ns, 0)
        switched = (left <= SWITCH_NS) & rivals.any(axis=1)
        ns = delays.ns.copy()
        if len(delays.kinds):
            ns[np.flatnonzero(switched), rivals.argmax(axis=1)[switched]] += left[switched]
        sums = np.zeros((len(accounts), len(delays.kinds) + 1), np.int64)
        np.add.at(sums, place, np.column_stack([ns, np.where(switched, 0, left)]))
        some = list(accounts.values())
        for one, unattributed_ns in zip(some, sums[:, -1].tolist(), strict=True):
            one.account.unattributed_ns += unattributed_ns
        sums = sums[:, :-1]
        for at, kind in np.argwhere(sums).tolist():
            one = some[at]
            told = self._seen_by(one.record.tid, delays.kinds[kind])
            one.account.delay(*told, int(sums[at, kind]))

    def _kinds(self, table: Interruptions) -> list[Source | tuple[int, int]]:
        """By row: the task that competes, or the origin of an interruption and, if that is its
        victim, whom it delayed."""
        victims = np.where(table["origin"] == Origin.SELF, table["victim_tid"], 0)
        columns = table["source"], table["tid"], table["origin"], victims.astype(np.uint32)
        places = np.empty(len(table), np.uint32)
        fresh = Groups(len(columns)).numbers(columns, places)
        kinds = [self._kind(*(int(column[first]) for column in columns)) for first in fresh]
        return [kinds[place] for place in places.tolist()]

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

    def _rows(self, one: _Record, gaps: Times) -> list[tuple[int, ...]]:
        """For what nothing accounts for in a wait that has ended, each moment of a CPU once."""
        if one.is_open or one.is_moved:
            return []
        rows = []
        first = int(np.searchsorted(gaps[:, 1], one.start_ns, "right"))
        last = int(np.searchsorted(gaps[:, 0], one.end_ns, "left"))
        for begin, end in gaps[first:last].tolist():
            start = max(begin, one.start_ns, self._told_until.get(one.cpu, 0), self.start_ns)
            until = min(end, one.end_ns)
            if until - start > SWITCH_NS:
                rows.append(self._row(one, start, until - start))
                self._told_until[one.cpu] = until
        return rows

    def _row(self, one: _Record, start_ns: int, ns: int) -> tuple[int, ...]:
        source = self.sources.index(UNATTRIBUTED)
        flags = int(Flag.OUTERMOST | Flag.CONTINUED)
        origin = int(Origin.UNATTRIBUTED)
        return (start_ns, ns, ns, source, one.tid, 0, one.cpu, 0, flags, 0, 0, origin)

    @property
    def living(self) -> Set[int]:
        """Right after close(): threads whose end was not told."""
        return self._accounts.keys()

    def close(self, until_ns: int) -> dict[int, VictimTime]:
        """Where the time went since the last call, by tid; everything up to ``until_ns`` is
        settled. The result is in ``told`` as well."""
        told = self.told
        told.clear()
        for tid, account in list(self._accounts.items()):
            if account.alive:
                account.wall_ns += max(until_ns - account.since_ns, 0)
            if account.wall_ns:
                told[tid] = _told(tid, account)
            del self._accounts[tid]
            if account.alive:
                since = max(account.until_ns, until_ns)
                self._accounts[tid] = _Account(until_ns, since, seen=account.seen, cpu=account.cpu)
        self._closed_ns = until_ns
        return dict(told)


def _told(tid: int, account: _Account) -> VictimTime:
    """The parts, which add up. What lost records leave contradictory is cut to the wall."""
    blocked_ns = min(account.blocked_ns, account.wall_ns - account.delay_ns)
    run_ns = account.wall_ns - account.delay_ns - blocked_ns
    noise: Counter[int] = Counter()
    left_ns = run_ns
    for origin, net_ns in account.disturbed.items():
        noise[origin] += min(net_ns, left_ns)
        left_ns -= min(net_ns, left_ns)
    noise.update(account.delayed)
    return VictimTime(
        tid=tid,
        wall_ns=account.wall_ns,
        on_cpu_ns=left_ns,
        noise_ns={label: noise[origin] for origin, label in _NOISE},
        self_ns=noise[Origin.SELF],
        contention=dict(account.contention),
        throttled_ns=account.throttled_ns,
        blocked_ns=blocked_ns,
        unattributed_ns=account.unattributed_ns + noise[Origin.UNATTRIBUTED],
        run_ns=run_ns,
        delay_ns=account.delay_ns,
        ran_on=_ran_on(account, run_ns),
    )


def _ran_on(account: _Account, run_ns: int) -> dict[int, int]:
    """What is told of no CPU was on the one where it is; never more than all of it."""
    ran_on: dict[int, int] = {}
    account.ran_on[account.cpu] += max(run_ns - account.ran_on.total(), 0)
    for cpu, ns in account.ran_on.items():
        part_ns = min(ns, run_ns)
        run_ns -= part_ns
        if cpu >= 0 and part_ns:
            ran_on[cpu] = part_ns
    return ran_on


def merged(one: Mapping[int, VictimTime], other: Mapping[int, VictimTime]) -> dict[int, VictimTime]:
    """Two periods, one after the other, as one."""
    found = dict(one)
    for tid, later in other.items():
        found[tid] = _added(tid, [found[tid], later]) if tid in found else later
    return found


def folded(victims: Mapping[int, VictimTime], kept: Set[int]) -> dict[int, VictimTime]:
    """All victims but the ``kept`` ones as OTHER_TID."""
    found = {tid: time for tid, time in victims.items() if tid in kept}
    if rest := [time for tid, time in victims.items() if tid not in kept]:
        found[OTHER_TID] = _added(OTHER_TID, rest)
    return found


def _added(tid: int, parts: Sequence[VictimTime]) -> VictimTime:
    noise: Counter[str] = Counter()
    contention: Counter[Source] = Counter()
    ran_on: Counter[int] = Counter()
    for one in parts:
        ran_on.update(one.ran_on)
        noise.update(one.noise_ns)
        contention.update(one.contention)
    return VictimTime(
        tid=tid,
        wall_ns=sum(one.wall_ns for one in parts),
        on_cpu_ns=sum(one.on_cpu_ns for one in parts),
        noise_ns=dict(noise),
        self_ns=sum(one.self_ns for one in parts),
        contention=dict(contention),
        throttled_ns=sum(one.throttled_ns for one in parts),
        blocked_ns=sum(one.blocked_ns for one in parts),
        unattributed_ns=sum(one.unattributed_ns for one in parts),
        run_ns=sum(one.run_ns for one in parts),
        delay_ns=sum(one.delay_ns for one in parts),
        ran_on=dict(ran_on),
    )


def _by_place(places: Times, ns: Times, count: int) -> list[int]:
    """Sums of ``ns`` by place."""
    totals = np.zeros(count, np.int64)
    np.add.at(totals, places, ns)
    return [int(total) for total in totals.tolist()]


def _sums(table: Interruptions) -> dict[tuple[int, int], tuple[int, int]]:
    """Net time by victim and origin, and the CPU of the first."""
    keys = table["victim_tid"].astype(np.uint64) << np.uint64(8) | table["origin"]
    unique, first, place = np.unique(keys, return_index=True, return_inverse=True)
    totals = np.bincount(place, table["net_ns"].astype(np.float64), len(unique)).astype(np.int64)
    return {
        (key >> 8, key & 0xFF): (total, cpu)
        for key, total, cpu in zip(
            unique.tolist(), totals.tolist(), table["cpu"][first].tolist(), strict=True
        )
    }
