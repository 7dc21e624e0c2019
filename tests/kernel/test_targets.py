"""Who the victims are: several processes, single threads, threads that the kernel runs."""

from __future__ import annotations

import contextlib
import ctypes
import json
import mmap
import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from noisetop.events.interruption import Flag, Interruptions
from noisetop.machine import system
from noisetop.machine.proc_interrupts import softirq_names
from noisetop.tracing.target import Target
from noisetop.tracing.tracer import Tracer
from tests.kernel import books
from tests.kernel.forked import run, started
from tests.kernel.loads import LIFETIME_S, prepared, stop, workload
from tests.kernel.program import PATIENCE_S, read, wait_for
from tests.kernel.tracing import Traced, trace

pytestmark = pytest.mark.kernel

CPUS = system.online_cpus()
VICTIM_CPU, SENDER_CPU = CPUS[-1], CPUS[0]
SECONDS = 1
SOFTIRQ_LEVEL = 2
_IO_URING_SETUP = 425
_IO_URING_ENTER = 426
_SQPOLL, _SQ_AFF = 1 << 1, 1 << 2
_SQ_WAKEUP = 1 << 1


def victims(traced: Traced) -> set[int]:
    return set(traced.table["victim_tid"].tolist()) - {0}


@pytest.mark.side_by_side
def test_several_processes_are_victims_and_another_one_is_not() -> None:
    with contextlib.ExitStack() as stack:
        # The stranger goes on for as long as both are there.
        stranger, first, second = (
            stack.enter_context(prepared(VICTIM_CPU, SENDER_CPU, f"compete:0:{count}"))
            for count in (0, 800, 800)
        )
        target = Target((VICTIM_CPU,), pids=(first.pid, second.pid))
        begin = [load.begin for load in (stranger, first, second)]
        traced = trace(target, *begin, first.finish, second.finish)
    for load in (first, second):
        assert {load.tids["victim"], load.tids["compete"]} <= victims(traced)
    assert not set(stranger.tids.values()) & victims(traced)
    assert stranger.tids["compete"] in traced.rows("thread", "compete")["tid"]


@pytest.mark.side_by_side
def test_a_thread_is_a_victim_and_its_sibling_is_not() -> None:
    with prepared(VICTIM_CPU, SENDER_CPU, "compete:0:1000") as load:
        traced = trace(Target((VICTIM_CPU,), tids=(load.tids["victim"],)), load.run)
    assert victims(traced) == {load.tids["victim"]}
    assert set(traced.rows("thread", "compete")["tid"]) == {load.tids["compete"]}


@pytest.mark.side_by_side
def test_several_threads_are_victims() -> None:
    with prepared(VICTIM_CPU, SENDER_CPU, "compete:0:1000") as load:
        tids = load.tids["victim"], load.tids["compete"]
        traced = trace(Target((VICTIM_CPU,), tids=tids), load.run)
    assert victims(traced) == set(tids)
    assert set(traced.rows("thread", "self", "compete")["tid"]) == {load.tids["compete"]}


AWAKE_NS = 10_000_000


@contextlib.contextmanager
def poller(cpu: int) -> Iterator[int]:
    """A thread of the kernel's that polls for io_uring on one CPU and never sleeps; its tid."""
    # struct io_uring_params: entries, flags, CPU and patience in ms of the poller
    params = (ctypes.c_uint32 * 30)()
    params[2:5] = [_SQPOLL | _SQ_AFF, cpu, LIFETIME_S * 1000]
    system_call = ctypes.CDLL(None, use_errno=True).syscall
    fd = system_call(_IO_URING_SETUP, 4, ctypes.byref(params))
    if fd < 0:
        pytest.skip(f"no io_uring here: {os.strerror(ctypes.get_errno())}")
    try:
        wait_for(lambda: bool(_pollers()), "the poller")
        (tid,) = _pollers()

        def polls() -> bool:
            """It goes to sleep when it is new, perhaps after it was woken."""
            system_call(_IO_URING_ENTER, fd, 0, 0, _SQ_WAKEUP, None, 0)
            return books.run_time_ns(tid) > AWAKE_NS

        wait_for(polls, "polling")
        yield tid
    finally:
        os.close(fd)


def _pollers() -> list[int]:
    """They name themselves."""
    tasks = Path("/proc/self/task").iterdir()
    return [int(one.name) for one in tasks if (one / "comm").read_text().startswith("iou-sqp")]


def test_what_interrupts_a_thread_of_the_kernel_is_what_the_kernel_counts() -> None:
    rows = {"LOC": ["local_timer"], "RES": ["reschedule"], "IWI": ["irq_work"]}
    rows["CAL"] = ["call_function", "call_function_single"]
    with contextlib.ExitStack() as stack:
        tid = stack.enter_context(poller(VICTIM_CPU))
        stack.enter_context(workload("timerfd", VICTIM_CPU, SENDER_CPU, 1000))
        target = Target((VICTIM_CPU,), tids=(tid,))
        tracer = stack.enter_context(Tracer(target, samples_cost=False))
        before, slices = books.everything(), books.slices_of_init()
        ran_ns = books.run_time_ns(tid)
        tracer.start_window()
        # Until a switch, what interrupts another one meanwhile is not told as what delays it.
        wait_for(lambda: books.run_time_ns(tid) > ran_ns, "a turn of the poller")
        before_too = books.everything()
        time.sleep(SECONDS)
        after = books.everything()
        tracer.stop_window()
        after_too = books.everything()
        table = tracer.read()
        # Some guests' kernels hide what happens while these threads run from their tracepoints.
        hidden = books.slices_of_init() - slices
        last = [source.path[-1] for source in tracer.reader.namer.sources]
    assert set(table["victim_tid"].tolist()) == {tid}
    for row, names in {**rows, **{one: [one] for one in softirq_names()}}.items():
        mine = table[table["flags"] & Flag.CONTINUED == 0]
        if row not in rows:
            mine = mine[mine["level"] == SOFTIRQ_LEVEL]
        seen = int(np.isin(mine["source"], [i for i, one in enumerate(last) if one in names]).sum())
        key = row, VICTIM_CPU
        least = after.get(key, 0) - before_too.get(key, 0)
        most = after_too.get(key, 0) - before.get(key, 0)
        assert least - hidden <= seen <= most, row
    assert len(table) > 100 * SECONDS


KSM = Path("/sys/kernel/mm/ksm")
MERGED_BYTES = 1 << 28
FAVOURED = -20
"""Nice value of what gets nearly all of a CPU that programs of others use as well."""


@contextlib.contextmanager
def merging() -> Iterator[int]:
    """The kernel's thread that merges pages; its tid. It is busy but for a short sleep after each
    scan, in which it waits for work on every CPU: so much to scan that this is rare."""
    if not (KSM / "run").exists():
        pytest.skip("no ksmd here")

    settings = {"sleep_millisecs": "0", "smart_scan": "0", "run": "1"}
    before = {name: (KSM / name).read_text() for name in settings if (KSM / name).exists()}
    memory = mmap.mmap(-1, MERGED_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    pages = np.frombuffer(memory, np.int64).reshape(-1, mmap.PAGESIZE // 8)
    pages[:] = np.arange(len(pages))[:, None]  # no two are the same
    del pages
    memory.madvise(mmap.MADV_MERGEABLE)
    try:
        for name in before:
            (KSM / name).write_text(settings[name])
        scans = _scans()
        wait_for(lambda: _scans() > scans, "ksmd")
        (tid,) = [int(p.parent.name) for p in Path("/proc").glob("[0-9]*/comm") if _is_ksmd(p)]
        yield tid
    finally:
        for name, value in before.items():
            (KSM / name).write_text(value)
        memory.close()


def _scans() -> int:
    return int((KSM / "full_scans").read_text())


def _is_ksmd(path: Path) -> bool:
    with contextlib.suppress(OSError):
        return path.read_text() == "ksmd\n"
    return False


def test_a_kernel_thread_is_a_victim_by_its_name(tmp_path: Path) -> None:
    file = tmp_path / "ksmd.json"
    with merging(), workload("timerfd", VICTIM_CPU, SENDER_CPU, 1000):
        done = run("record", "-t", "ksmd", "-d", "500ms", "-q", "-o", file)
        assert done.returncode == 0, done.stderr
    document = json.loads(read("report", "--json", file).stdout)
    assert document["metadata"]["target"].endswith("(ksmd)")
    paths = [one["path"] for cpu in document["cpus"].values() for one in cpu["sources"]]
    assert ["timer", "local_timer"] in paths
    assert not [path for path in paths if "ksmd" in path], "what it does itself is no noise"


def delayed(traced: Traced, tid: int) -> Interruptions:
    """Interrupts and softirqs that came while a thread had its CPU."""
    table = traced.table
    mine: Interruptions = table[(table["tid"] == tid) & (table["level"] >= SOFTIRQ_LEVEL)]
    return mine


def traced_alone(tid: int) -> Traced:
    """A second in which no program waited for the CPU that the thread has: one that does is the
    victim of the thread."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        traced = trace(
            Target((VICTIM_CPU,)), lambda: time.sleep(SECONDS), housekeeping=(SENDER_CPU,)
        )
        if set(delayed(traced, tid)["victim_tid"].tolist()) <= {0, tid}:
            return traced
    raise AssertionError("programs wait for that CPU all the time")


def test_a_cpu_on_which_a_kernel_thread_spins_is_not_idle() -> None:
    with merging() as tid:
        before, nice = os.sched_getaffinity(tid), os.getpriority(os.PRIO_PROCESS, tid)
        os.sched_setaffinity(tid, {VICTIM_CPU})
        os.setpriority(os.PRIO_PROCESS, tid, FAVOURED)
        try:
            traced = traced_alone(tid)
        finally:
            os.sched_setaffinity(tid, before)
            os.setpriority(os.PRIO_PROCESS, tid, nice)
    table = delayed(traced, tid)
    is_victim = table["victim_tid"] == tid
    assert is_victim.mean() > 0.7, "it has the CPU all the time, but for the first 100 ms"
    ticks = traced.rows("timer", "local_timer")
    ticks = ticks[(ticks["victim_tid"] == tid) & (ticks["flags"] & Flag.OUTERMOST != 0)]
    assert len(ticks) > 50 * SECONDS, "CONFIG_HZ is 100 or more"
    entries = np.sort(table["start_ns"][is_victim & (table["flags"] & Flag.ENTRY != 0)])
    first, past = (
        np.searchsorted(entries, ends)
        for ends in (ticks["start_ns"], ticks["start_ns"] + ticks["gross_ns"])
    )
    assert (past - first == 1).all(), "each interrupts it, once"
    idle = traced.rows("thread", "ksmd")
    assert (idle["victim_tid"] != tid).all(), "what it does itself is no noise"


@pytest.mark.side_by_side
def test_the_run_ends_with_the_last_of_its_threads(tmp_path: Path) -> None:
    with prepared(VICTIM_CPU, SENDER_CPU, "compete:0:200") as load:
        tids = ",".join(str(tid) for tid in load.tids.values())
        file = tmp_path / "x.noisetop"
        with started("record", "-t", tids, "-o", file, until="recording") as process:
            stop(load.process)
            _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, said
    assert f"TIDs {tids}" in said
    assert "exited" in said
