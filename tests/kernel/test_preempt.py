"""Who asked for a preemption: threads that nobody woke still have somebody behind them."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from noisetop import system
from noisetop.event import Interruptions
from noisetop.tracer import Target
from tests.kernel.loads import Workload, prepared
from tests.kernel.tracing import Traced, trace

pytestmark = pytest.mark.kernel

CPUS = system.online_cpus()
VICTIM_CPU, OTHER_CPU = max(CPUS), min(CPUS)
ROUNDS = 60
TURN_S = 0.003
NEXT_NS = 20_000
"""Between the end of one slice and the beginning of the next there is one context switch."""
LENGTH = "spin:100:80"
"""Both spin for 0.8 s, longer than all rounds take on a CPU of their own."""


@contextlib.contextmanager
def two_that_spin() -> Iterator[tuple[Workload, Workload]]:
    """A victim and a thread of another process that share a CPU; nobody wakes either of them."""
    with (
        prepared(VICTIM_CPU, OTHER_CPU, LENGTH) as load,
        prepared(VICTIM_CPU, OTHER_CPU, LENGTH) as rival,
    ):
        yield load, rival


def slices_of(traced: Traced, rival: Workload) -> Interruptions:
    """The interruptions of the victim by the rival itself."""
    rows = traced.rows("thread", "victim")
    chosen: Interruptions = rows[rows["tid"] == rival.tids["victim"]]
    return chosen


def right_after_the_victim(traced: Traced, rows: Interruptions) -> Interruptions:
    """Those before which no other thread had the CPU: that one may just have gone to sleep."""
    threads = traced.table[(traced.table["level"] == 0) & (traced.table["cpu"] == VICTIM_CPU)]
    ends = np.sort(threads["start_ns"] + threads["gross_ns"])
    last = np.searchsorted(ends, rows["start_ns"], "right") - 1
    chosen: Interruptions = rows[(last < 0) | (rows["start_ns"] - ends[last] > NEXT_NS)]
    return chosen


def test_the_end_of_a_time_slice_is_the_ticks() -> None:
    with two_that_spin() as (load, rival):
        traced = trace(Target(CPUS, pid=load.pid), rival.begin, load.run, rival.finish)
        rows = right_after_the_victim(traced, slices_of(traced, rival))
    contexts = [traced.triggers[number].context for number in rows["trigger"]]
    assert len(contexts) >= 10
    assert contexts.count("tick") >= 0.9 * len(contexts), contexts


def test_who_raises_a_priority_is_behind_the_preemption() -> None:
    """A waiting thread gets ahead of the victim because of a system call elsewhere."""
    raised: list[int] = []
    with two_that_spin() as (load, rival):
        hog = rival.tids["victim"]

        def raise_and_lower() -> None:
            os.sched_setaffinity(0, {OTHER_CPU})
            for _ in range(ROUNDS):
                time.sleep(TURN_S)
                raised.append(time.monotonic_ns())
                os.sched_setscheduler(hog, os.SCHED_FIFO, os.sched_param(1))
                time.sleep(TURN_S / 3)
                os.sched_setscheduler(hog, os.SCHED_OTHER, os.sched_param(0))

        def run() -> None:
            rival.begin()
            load.begin()
            asker = threading.Thread(target=raise_and_lower)
            asker.start()
            asker_tids.append(asker.native_id or 0)
            asker.join()
            load.finish()
            rival.finish()

        asker_tids: list[int] = []
        traced = trace(Target(CPUS, pid=load.pid), run)
        rows = slices_of(traced, rival)
    by_call = rows[traced.tids(rows) == asker_tids[0]]
    # Half of the time it is the victim that runs when the call is made.
    assert ROUNDS / 6 <= len(by_call) <= ROUNDS
    # And each begins with a call of its own.
    calls = np.searchsorted(raised, by_call["start_ns"].astype(np.int64)) - 1
    assert (calls >= 0).all()
    assert len(set(calls.tolist())) == len(by_call)


def test_a_realtime_thread_that_another_process_wakes() -> None:
    """Both the waker and the asker are the same, and its interruption names it."""
    with (
        prepared(VICTIM_CPU, OTHER_CPU, LENGTH) as load,
        prepared(VICTIM_CPU, OTHER_CPU, "wake-urgent:100:50") as rival,
    ):
        traced = trace(Target(CPUS, pid=load.pid), load.begin, rival.run, load.finish)
        rows = traced.rows("thread", "urgent")
        tids = traced.tids(rows)
        waker = rival.tids["wake-urgent"]
    assert len(rows) >= 20, "the victim had its CPU too seldom"
    assert np.count_nonzero(tids == waker) >= 0.9 * len(rows)
