"""Where the time of victims went, against the kernel's own: run time and run delay of schedstat."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from noisetop.events.interruption import Source
from noisetop.machine import system
from noisetop.tracing.target import Target
from tests.kernel import books
from tests.kernel.loads import Workload, prepared
from tests.kernel.test_waits import LONG_NS, NOWHERE, SHORT_NS, SKIPPED_NS, quota
from tests.kernel.tracing import Traced, trace

pytestmark = pytest.mark.kernel

CPUS = system.online_cpus()
VICTIM_CPU = max(CPUS)
SENDER_CPU = min(CPUS)
SHARE = 0.01
HIDDEN_NS = 60_000_000
"""Of a switch that some guests' kernels keep from its tracepoint: a sleep of these loads."""

Books = dict[int, tuple[int, int]]


def books_of(load: Workload) -> Books:
    """Run time and run delay of each thread."""
    found = {}
    for tid in [load.pid, *load.tids.values()]:
        run, delay, _ = Path(f"/proc/{tid}/schedstat").read_text().split()
        found[tid] = int(run), int(delay)
    return found


def hidden_time(traced: Traced) -> int:
    """How many ns of waits and sleeps some guests' kernels may have kept from the tracepoints."""
    return HIDDEN_NS * sum(cpu["switch"] for cpu in traced.losses.by_cpu.values())


def assert_adds_up(traced: Traced, load: Workload) -> None:
    """To the nanosecond, and never more than the period."""
    assert traced.victims.keys() >= set(load.tids.values())
    for one in traced.victims.values():
        assert one.adds_up(), one
        assert 0 < one.wall_ns <= traced.duration_ns, one
        assert sum(one.ran_on.values()) == one.run_ns, one


def assert_books_agree(traced: Traced, load: Workload, before: Books) -> None:
    """Run time, and run delay where waits are long enough for the kernel's clock."""
    hidden_ns = hidden_time(traced)
    for tid, (run_ns, delay_ns) in books_of(load).items():
        one = traced.victims.get(tid)
        ran_ns, delayed_ns = run_ns - before[tid][0], delay_ns - before[tid][1]
        if one is None or max(ran_ns, one.run_ns) < SHORT_NS:
            continue
        wait = traced.waits.get(tid)
        count = sum(wait.count.values()) if wait else 0
        skipped_ns = SKIPPED_NS * (count + 1)
        assert abs(one.run_ns - ran_ns) <= SHARE * ran_ns + skipped_ns + hidden_ns, (one, ran_ns)
        if delayed_ns >= LONG_NS * max(count, 10):
            skipped_ns = 0
        assert abs(one.delay_ns - delayed_ns) <= SHARE * delayed_ns + skipped_ns + hidden_ns, (
            one,
            delayed_ns,
        )


CASES = {
    "a spinner": ("spin:0:1", "mprotect:1000:500"),
    "two threads on one CPU": ("compete:0:2500",),
    "a blocked server": ("nanosleep:1000:600", "futex:500:300"),
    "beside a real-time thread": ("compete:0:2500", "wake-urgent:40:30"),
}


@pytest.mark.parametrize("acts", CASES.values(), ids=CASES.keys())
def test_it_adds_up_and_agrees_with_the_kernels_books(acts: tuple[str, ...]) -> None:
    with prepared(VICTIM_CPU, SENDER_CPU, *acts) as load:
        before = books_of(load)
        traced = trace(Target(CPUS, pid=load.pid), load.run)
        assert_books_agree(traced, load, before)
    assert_adds_up(traced, load)


def test_two_threads_name_each_other_as_contention() -> None:
    with prepared(VICTIM_CPU, SENDER_CPU, "compete:0:2500") as load:
        traced = trace(Target((VICTIM_CPU,), pid=load.pid), load.run)
    one, other = (traced.victims[load.tids[name]] for name in ("victim", "compete"))
    for mine, its, rival in ((one, other, "compete"), (other, one, "victim")):
        shared_ns = mine.contention[Source(("thread", "self", rival))]
        # One waits whenever the other runs, but for when that is alone at the end.
        assert 0.7 * its.on_cpu_ns <= shared_ns <= its.run_ns


def test_a_quota_is_throttled_time() -> None:
    with quota(percent=20) as tasks, prepared(VICTIM_CPU, SENDER_CPU, "compete:0:700") as load:
        tasks.write_text(str(load.pid))
        traced = trace(Target((VICTIM_CPU,), pid=load.pid), load.run)
    assert_adds_up(traced, load)
    throttled_ns = sum(one.throttled_ns for one in traced.victims.values())
    waits = [wait.total_ns.get("throttled", 0) for wait in traced.waits.values()]
    assert 0 < sum(waits) <= throttled_ns * (1 + SHARE)


def test_a_thread_that_migrates_while_it_waits() -> None:
    with contextlib.ExitStack() as stack:
        load = stack.enter_context(prepared(NOWHERE, NOWHERE, "compete:0:3000"))
        rivals = [stack.enter_context(prepared(cpu, cpu, "compete:0:2000")) for cpu in CPUS]

        def migrate() -> None:
            for rival in rivals:
                rival.begin()
            load.begin()
            for turn in range(80):
                os.sched_setaffinity(load.tids["victim"], {CPUS[turn % len(CPUS)]})
                time.sleep(0.003)
            os.sched_setaffinity(load.tids["victim"], set(CPUS))
            load.finish()

        before = books_of(load)
        traced = trace(Target(CPUS, pid=load.pid), migrate, *(rival.finish for rival in rivals))
        assert_books_agree(traced, load, before)
    assert_adds_up(traced, load)
    victim = traced.victims[load.tids["victim"]]
    assert victim.unattributed_ns <= 0.05 * victim.delay_ns + hidden_time(traced)


STARVED = 4
PERIOD_S = 0.5


def test_a_wait_that_began_before_the_trace_is_known() -> None:
    """Threads of SCHED_IDLE beside one that never sleeps: each runs about once in a second, so most
    are never switched in while they are traced."""
    spin = [sys.executable, "-c", "print(flush=True)\nwhile True: pass"]
    bound = ["taskset", "-c", str(VICTIM_CPU)]
    with contextlib.ExitStack() as stack:
        pids = []
        for command in [["chrt", "--idle", "0", *spin]] * STARVED + [spin]:
            process = stack.enter_context(
                subprocess.Popen([*bound, *command], stdout=subprocess.PIPE)
            )
            stack.callback(process.kill)
            assert process.stdout
            process.stdout.readline()
            pids.append(process.pid)
        ran = {}

        def look() -> None:
            before = {pid: books.run_time_ns(pid) for pid in pids[:STARVED]}
            time.sleep(PERIOD_S)
            ran.update({pid: books.run_time_ns(pid) - ns for pid, ns in before.items()})

        traced = trace(Target((VICTIM_CPU,), pids=tuple(pids[:STARVED])), look)
    assert len(ran) == STARVED
    for pid, ran_ns in ran.items():
        one = traced.victims[pid]
        assert one.adds_up()
        assert one.wall_ns > PERIOD_S * 1e9
        # What has the CPU to the end is not told: it goes on then.
        assert one.delay_ns >= 0.9 * (PERIOD_S * 1e9 - ran_ns), one
