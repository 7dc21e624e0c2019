"""Times of threads against the same said slowly, and thread by thread."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisetop._tables import BLOCKED, EXITED, THROTTLED, WAITED, WOKEN, ThreadTimes

NEW = 1
NONE = 2**64 - 1
Record = tuple[int, int, int, int, int, int]
"""tid, CPU, start, end, kind, slept."""

RECORDS = st.lists(
    st.tuples(
        st.integers(1, 3),
        st.integers(0, 2),
        st.integers(100, 400),
        st.integers(0, 60),
        st.sampled_from([WAITED, WOKEN, THROTTLED, BLOCKED, EXITED]),
        st.sampled_from([0, 0, NEW, 5, 40, 2**63]),
    ),
    max_size=30,
).map(
    lambda some: sorted(
        ((tid, cpu, start, start + ns, kind, slept) for tid, cpu, start, ns, kind, slept in some),
        key=lambda one: one[3],
    )
)


@dataclass
class Slow:
    """One thread."""

    since: int
    until: int
    alive: bool = True
    seen: bool = False
    wall: int = 0
    blocked: int = 0
    delay: int = 0
    throttled: int = 0
    cpu: int = -1
    ran_on: Counter[int] = field(default_factory=Counter)

    def ran(self, until: int, cpu: int) -> None:
        if self.alive and until > self.until:
            self.ran_on[cpu if self.cpu < 0 else self.cpu] += until - self.until
        self.cpu = cpu

    def block(self, start: int, end: int) -> None:
        start = max(start, self.until)
        if end > start:
            self.blocked += end - start
            self.until = end

    def begin(self, record: Record, *, follows: bool) -> None:
        _, cpu, start, end, kind, slept = record
        comes = not self.seen and kind == WOKEN and not slept
        if kind == BLOCKED:
            self.ran(start, cpu)
            self.block(start, end)
        elif kind != EXITED and (not self.alive or slept == NEW or (comes and not follows)):
            if not (self.seen and self.alive):
                self.since = max(self.since, start)
                self.alive, self.until = True, max(self.until, start)
            self.cpu = cpu
        elif slept:
            self.ran(start - slept, cpu)
            self.block(start - slept, start)
        elif comes:
            self.block(self.until, start)
            self.cpu = cpu
        else:
            self.ran(start, cpu)
        self.seen = True
        if kind == EXITED and self.alive:
            self.wall += max(end - self.since, 0)
            self.alive, self.since = False, end

    def account(self, record: Record, *, follows: bool) -> int:
        self.begin(record, follows=follows)
        _, _, start, end, kind, _ = record
        start = max(start, self.until)
        if kind in (BLOCKED, EXITED) or end <= start:
            return NONE
        self.until = end
        self.delay += end - start
        self.throttled += end - start if kind == THROTTLED else 0
        return NONE if kind == THROTTLED else start

    def told(self, tid: int, until: int) -> tuple[list[int], list[list[int]]]:
        wall = self.wall + (max(until - self.since, 0) if self.alive else 0)
        row = [tid, wall, self.blocked, self.delay, self.throttled, self.cpu, len(self.ran_on)]
        return row, [[cpu, ns] for cpu, ns in self.ran_on.items()]

    def next(self, until: int) -> Slow:
        return Slow(until, max(self.until, until), seen=self.seen, cpu=self.cpu)


def account(times: ThreadTimes, records: list[Record]) -> list[int]:
    columns = np.array(records, np.uint64).reshape(-1, 6)
    begins = np.zeros(len(records), np.uint64)
    one, two, three, four, five, six = columns.T
    times.account((one.astype(np.uint32), two, three, four, five.astype(np.uint8), six), begins)
    return [int(begin) for begin in begins.tolist()]


def closed(times: ThreadTimes, until: int) -> tuple[list[list[int]], list[list[int]]]:
    threads, cpus = times.close(until)
    one, two = np.frombuffer(threads, np.int64), np.frombuffer(cpus, np.int64)
    return one.reshape(-1, 7).tolist(), two.reshape(-1, 2).tolist()


@given(RECORDS, st.booleans(), st.lists(st.integers(0, 30), max_size=3))
def test_any_records_in_any_periods(records: list[Record], follows: bool, cuts: list[int]) -> None:
    times, slow = ThreadTimes(90, follows, NEW), dict[int, Slow]()
    bounds = [0, *sorted(min(cut, len(records)) for cut in cuts), len(records)]
    start = 90
    for first, last in itertools.pairwise(bounds):
        some = records[first:last]
        wanted = [
            slow.setdefault(one[0], Slow(start, start)).account(one, follows=follows)
            for one in some
        ]
        assert account(times, some) == wanted
        until = max([start, *(one[3] for one in some)])
        told = [time.told(tid, until) for tid, time in slow.items()]
        assert closed(times, until) == (
            [row for row, _ in told],
            [part for _, parts in told for part in parts],
        )
        slow = {tid: time.next(until) for tid, time in slow.items() if time.alive}
        start = until
        assert np.frombuffer(times.tids(), np.uint64).tolist() == list(slow)


def test_a_cpu_is_said_only_where_none_is_known() -> None:
    times = ThreadTimes(0, False, NEW)
    times.ran((np.array([7, 7, 8], np.uint32), np.array([3, 4, 5], np.uint16)))
    assert [(row[0], row[5]) for row in closed(times, 100)[0]] == [(7, 3), (8, 5)]


def test_what_is_forgotten_begins_anew() -> None:
    times = ThreadTimes(0, True, NEW)
    account(times, [(tid, 0, 10, 20, WAITED, 0) for tid in (5, 6, 7)])
    closed(times, 50)
    times.forget((np.array([5, 7, 99], np.uint64),))
    assert np.frombuffer(times.tids(), np.uint64).tolist() == [6]
    account(times, [(5, 0, 60, 70, WAITED, 0)])
    assert [row[:2] for row in closed(times, 100)[0]] == [[6, 50], [5, 50]]


def test_many_threads_come_and_go() -> None:
    times = ThreadTimes(0, True, NEW)
    for turn in range(20):
        now = turn * 1_000
        tids = range(1_000 * turn, 1_000 * turn + 500)
        records = [(tid, 0, now + 10, now + 20, WAITED, 0) for tid in tids]
        account(times, [*records, *((tid, 0, now + 30, now + 30, EXITED, 0) for tid in tids)])
        assert len(closed(times, now + 1_000)[0]) == 500
        assert times.tids() == b""


def test_wrong_arguments_are_refused() -> None:
    times = ThreadTimes(0, True, NEW)
    column = np.zeros(2, np.uint64)
    with pytest.raises(ValueError, match="uint64"):
        times.account((column,) * 6, np.zeros(3, np.uint64))
    with pytest.raises(ValueError, match="6"):
        times.account((column,) * 5, np.zeros(2, np.uint64))  # type: ignore[arg-type]
