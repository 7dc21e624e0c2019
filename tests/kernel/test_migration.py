"""Victims moved off a watched CPU, against the kernel's own count of its tracepoint."""

from __future__ import annotations

import contextlib
import itertools
import os

import pytest

from noisetop.events.interruption import SIDE_LEVEL
from noisetop.machine import system
from noisetop.tracing.target import Target
from tests.kernel.loads import prepared
from tests.kernel.tracepoint_counter import count, tracepoint_counter
from tests.kernel.tracing import trace

CPUS = system.online_cpus()
WATCHED, OTHER = max(CPUS), min(CPUS)
MOVES = 40
EVENT = "sched/sched_migrate_task"

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(WATCHED == OTHER, reason="one CPU leaves nowhere to move to"),
]


def test_every_move_of_a_victim_is_an_instant_on_the_cpu_that_it_left() -> None:
    with contextlib.ExitStack() as stack:
        load = stack.enter_context(prepared(WATCHED, OTHER, "spin:1000:500"))
        tid = load.tids["victim"]

        def move() -> None:
            load.begin()
            for cpu in itertools.islice(itertools.cycle((OTHER, WATCHED)), 2 * MOVES):
                os.sched_setaffinity(tid, {cpu})
            load.finish()

        condition = f"pid == {tid} && orig_cpu == {WATCHED}"
        theirs = [stack.enter_context(tracepoint_counter(EVENT, condition, cpu)) for cpu in CPUS]
        traced = trace(Target((WATCHED,), pid=load.pid), move)
        moves = sum(map(count, theirs))
    rows = traced.rows("migration", "moved_away")
    mine = rows[rows["victim_tid"] == tid]
    assert moves >= MOVES // 2, "while it sleeps it is not moved"
    assert len(mine) == moves
    assert set(mine["cpu"].tolist()) == {WATCHED}
    assert set(mine["level"].tolist()) == {SIDE_LEVEL}
    assert not mine["gross_ns"].any()
