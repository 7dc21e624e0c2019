"""Waits against the kernel's own: run_delay in /proc/PID/task/TID/schedstat."""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from noisetop.counters.losses import LOSSES
from noisetop.events.layout import Events
from noisetop.events.records import Pieces
from noisetop.events.waits import TaskWait
from noisetop.machine import system
from noisetop.tables.rows import joined
from noisetop.tracing.target import Target
from noisetop.tracing.tracer import Tracer
from tests.kernel.loads import Workload, prepared, remove_group
from tests.kernel.program import wait_for
from tests.kernel.provoked import favoured
from tests.kernel.run_delay import clock_ages
from tests.kernel.tracing import Traced, trace

pytestmark = pytest.mark.kernel

CPUS = system.online_cpus()
VICTIM_CPU = max(CPUS)
SENDER_CPU = min(CPUS)
NOWHERE = -1
ENDLESS = 0
MANY = 100
SHARE = 0.01
LONG_NS = 1_000_000
SHORT_NS = 5_000_000
EMULATED_STALL_NS = 20_000_000 if "NOISETOP_LOAD_SHARE" in os.environ else 0
"""So long an emulated CPU may stand still in all between the scheduler's look at its clock and
ours: it waits for a CPU itself."""
SKIPPED_NS = 100_000
"""The scheduler takes no new time for a switch that follows a wake-up at once: it counts what lies
in between, with interrupts and tracers, for the one that is preempted and not for the one that is
woken."""


TICKS_THAT_SHOW = 20
RIVALS = min(4 * len(CPUS), 60)
"""So many that each waits long, and no more than workload.c has room for."""
FACTOR = 2
LAG_NS = 5_000
"""So much later than the programs that look at the clock ours may see a wait begin: on a shared
host programs take four times as long for seconds."""
TURNS = 5
"""Of another process: the load takes 0.4 s and its victim as long, and on an emulated machine a
turn takes 8 ms. Half of that time may be over before the scheduler gives the other one its
first."""
QUIET_SHARE = 0.05
"""Of the time, which other programs may take from the load: to these it waits longer, and the
programs that look at the clock take longer as well."""


def share_of_others(traced: Traced) -> float:
    """What tasks of other programs took of the time that was traced."""
    numbers = [
        number
        for number, source in enumerate(traced.sources)
        if source.path[0] == "thread" and source.path[1] != "self"
    ]
    table = traced.table
    start_ns, end_ns = table["start_ns"], table["start_ns"] + table["gross_ns"]
    taken = int(table["net_ns"][np.isin(table["source"], numbers)].sum())
    return taken / max(int(end_ns.max()) - int(start_ns.min()), 1)


def run_delay_ns(tid: int) -> int:
    return int(Path(f"/proc/{tid}/schedstat").read_text().split()[1])


def delays(load: Workload) -> dict[int, int]:
    """Of all its threads, rivals of one name among them."""
    tids = [int(one.name) for one in Path(f"/proc/{load.pid}/task").iterdir()]
    return {tid: run_delay_ns(tid) for tid in tids}


def assert_equal_to_the_kernels(
    traced: Traced, before: dict[int, int], load: Workload, *, bound: bool = True
) -> None:
    """Within 1 % where waits are long enough for that; those of a bound victim have to be. Where
    threads go from CPU to CPU, whose are is the scheduler's choice, and so is whom a real-time
    thread preempts when it is woken: what that skips is allowed once, for all of them."""
    long, after, excess = set(), delays(load), {}
    for tid in before.keys() & after.keys():
        waited_ns = after[tid] - before[tid]
        wait = traced.waits.get(tid, TaskWait({}, {}, 0))
        count = sum(wait.count.values())
        if min(waited_ns, wait.sum_ns) < SHORT_NS:
            continue
        allowed_ns = SHARE * waited_ns + EMULATED_STALL_NS
        if waited_ns >= LONG_NS * max(count, 10):
            long.add(tid)
        else:
            allowed_ns += SKIPPED_NS * (count + 1)
        excess[tid] = max(abs(wait.sum_ns - waited_ns) - allowed_ns, 0), wait, waited_ns
    urgent = traced.waits.get(load.tids.get("wake-urgent", 0), TaskWait({}, {}, 0))
    skipped_ns = SKIPPED_NS * urgent.count.get("woken", 0)
    assert sum(ns for ns, *_ in excess.values()) <= skipped_ns, (load.tids, excess)
    assert load.tids["victim"] in long if bound else long, (load.tids, traced.waits)


@pytest.mark.parametrize(
    "act", ["nanosleep:0:500", "wake-urgent:40:30"], ids=["beside-a-sleeper", "beside-realtime"]
)
@pytest.mark.parametrize("bound", [True, False], ids=["pinned", "unpinned"])
def test_waits_equal_the_kernels(bound: bool, act: str) -> None:
    cpus = (VICTIM_CPU, SENDER_CPU) if bound else (NOWHERE, NOWHERE)
    acts = ["compete:0:600"] * RIVALS
    with favoured(*cpus, *acts, act) as load:
        before = delays(load)
        traced = trace(Target(CPUS, pid=load.pid), load.run)
        assert_equal_to_the_kernels(traced, before, load, bound=bound)


@pytest.mark.parametrize("bound", [True, False], ids=["pinned", "unpinned"])
def test_the_age_of_its_clock_is_what_the_kernel_leaves_out_of_short_waits(bound: bool) -> None:
    """A thread that wakes every millisecond beside threads that never sleep: it preempts one of
    them, and most of its waits last no time at all by the clock that the kernel reads. The programs
    that look at that clock take time between ours, so not all of the difference can be told, and
    beside other programs even less."""
    cpus = (VICTIM_CPU, SENDER_CPU) if bound else (NOWHERE, NOWHERE)
    acts = ["compete:0:3000"] * (1 if bound else len(CPUS))
    with favoured(*cpus, "nanosleep:1000:500", *acts) as load, clock_ages(load.pid) as ages:
        before = delays(load)
        traced = trace(Target(CPUS, pid=load.pid), load.run)
        after = delays(load)
    quiet = share_of_others(traced) < QUIET_SHARE
    tid = load.tids["nanosleep"]
    wait, waited_ns = traced.waits[tid], after[tid] - before[tid]
    left_out_ns = wait.sum_ns - waited_ns
    assert wait.count["woken"] >= 450
    assert ages.not_counted(tid) >= 50
    # Where a guest's kernel keeps a slice from its tracepoints, it may keep a wait.
    hidden_ns = traced.hidden * wait.max_ns
    assert left_out_ns + hidden_ns >= SHARE * waited_ns
    told_ns = ages.missing_ns(tid)
    assert told_ns > 0
    lag_ns = LAG_NS * sum(wait.count.values())
    about = left_out_ns / FACTOR <= told_ns <= max(left_out_ns * FACTOR, left_out_ns + lag_ns)
    assert about or not quiet, (wait, left_out_ns, told_ns)


def test_waits_for_another_process_equal_the_kernels() -> None:
    """The other one competes until the load is over, however long an emulated CPU takes for that.
    Both begin at one moment: on old kernels what begins later runs alone for so long that it may be
    done."""
    with (
        favoured(VICTIM_CPU, SENDER_CPU, "compete:0:4000") as load,
        favoured(VICTIM_CPU, SENDER_CPU, f"compete:0:{ENDLESS}") as rival,
    ):

        def both() -> None:
            rival.begin()
            load.run()

        before = delays(load)
        traced = trace(Target(CPUS, pid=load.pid), both)
        assert_equal_to_the_kernels(traced, before, load)
    assert len(traced.rows("thread", "compete")) >= TURNS, "the other process is no stranger"


def test_waits_follow_their_thread_across_migrations() -> None:
    """Moved back and forth while it waits: a thread that competes for either CPU."""
    with contextlib.ExitStack() as stack:
        load = stack.enter_context(favoured(NOWHERE, NOWHERE, "compete:0:3000"))
        rivals = [stack.enter_context(favoured(cpu, cpu, "compete:0:2500")) for cpu in CPUS]

        def migrate() -> None:
            for rival in rivals:
                rival.begin()
            load.begin()
            for cpu in itertools.islice(itertools.cycle(CPUS), 100):
                os.sched_setaffinity(load.tids["victim"], {cpu})
                time.sleep(0.003)
            os.sched_setaffinity(load.tids["victim"], set(CPUS))
            load.finish()

        before = delays(load)
        traced = trace(Target(CPUS, pid=load.pid), migrate, *(rival.finish for rival in rivals))
        assert_equal_to_the_kernels(traced, before, load)
        assert len(set(traced.table["cpu"].tolist())) == len(CPUS)


@contextlib.contextmanager
def quota(percent: int) -> Iterator[Path]:
    """A control group that may use so much of one CPU; yields the file that takes its tasks."""
    period_us = 20_000
    name = f"noisetop-test-{os.getpid()}"
    legacy = Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")
    root = Path("/sys/fs/cgroup/cpu" if legacy.parent.is_dir() else "/sys/fs/cgroup")
    group = root / name
    if not legacy.parent.is_dir():
        (root / "cgroup.subtree_control").write_text("+cpu")
    group.mkdir()
    try:
        if (group / "cpu.cfs_quota_us").exists():
            (group / "cpu.cfs_period_us").write_text(str(period_us))
            (group / "cpu.cfs_quota_us").write_text(str(period_us * percent // 100))
        else:
            (group / "cpu.max").write_text(f"{period_us * percent // 100} {period_us}")
        yield group / "cgroup.procs"
        home = root / "cgroup.procs"
        for pid in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                home.write_text(pid)
    finally:
        remove_group(group)


def throttled_periods(group: Path) -> int:
    lines = (line.split() for line in (group / "cpu.stat").read_text().splitlines())
    return next(int(value) for name, value in lines if name == "nr_throttled")


def idle_ticks(cpu: int) -> int:
    lines = Path("/proc/stat").read_text().splitlines()
    return next(int(line.split()[4]) for line in lines if line.startswith(f"cpu{cpu} "))


def test_a_quota_is_told_apart_from_waiting() -> None:
    with quota(percent=20) as tasks, prepared(VICTIM_CPU, SENDER_CPU, "compete:0:700") as load:
        tasks.write_text(str(load.pid))
        before, idle_before = throttled_periods(tasks.parent), idle_ticks(VICTIM_CPU)
        traced = trace(Target((VICTIM_CPU,), pid=load.pid), load.run)
        periods = throttled_periods(tasks.parent) - before
        idle_for = idle_ticks(VICTIM_CPU) - idle_before
    assert periods >= 10
    waits = [traced.waits[load.tids[name]] for name in ("victim", "compete")]
    throttled = sum(wait.count.get("throttled", 0) for wait in waits)
    # Once in a period of the group, and who is runnable by then is what suffers.
    assert periods * 0.8 <= throttled <= (periods + 1) * len(waits)
    assert all(wait.total_ns["throttled"] > 0 for wait in waits)
    idle = [traced.rows("thread", f"swapper/{VICTIM_CPU}"), traced.rows("thread", "throttled")]
    # Unless somebody else had the CPU all the time.
    assert sum(map(len, idle)) or idle_for < TICKS_THAT_SHOW, (periods, idle_for)
    assert {int(tid) for rows in idle for tid in rows["victim_tid"]} <= set(load.tids.values())


def test_a_wait_ends_at_the_moment_when_what_it_waited_for_does() -> None:
    """One reading of the clock tells both: nothing lies between."""
    pieces: list[Pieces] = []

    def preemptions() -> Events:
        tracer.read()
        none = np.empty(0, tracer.layout.event)
        waits = joined([none, *(some for piece in pieces for some in piece.waits)])
        ours = np.isin(waits["tid"], list(load.tids.values()))
        found: Events = waits[ours & (waits["level"] == preempted)]
        return found

    with (
        prepared(VICTIM_CPU, SENDER_CPU, f"compete:0:{ENDLESS}") as load,
        Tracer(Target((VICTIM_CPU,)), samples_cost=False) as tracer,
    ):
        preempted = tracer.layout.wait_reasons.index("preempted")
        tracer.on_records = lambda some, _: pieces.append(some)
        tracer.start_window()
        load.begin()
        # How often the scheduler changes its mind is the kernel's affair.
        wait_for(lambda: len(preemptions()) >= MANY, f"{MANY} preemptions")
        tracer.stop_window()
        waits = preemptions()
        switches = tracer.window_counters().of(LOSSES).by_cpu.get(VICTIM_CPU, {}).get("switch", 0)
    (thread,) = (n for n, kind in tracer.layout.kinds.items() if kind.name == "thread")
    ran = joined([some for piece in pieces for some in piece.events])
    ran = ran[ran["source"] == thread]
    ends = waits["start_ns"] + waits["gross_ns"]
    alone = ~np.isin(ends, ran["start_ns"] + ran["gross_ns"])
    # Where a switch was not reported, what ran until the next one is not known, nor until when.
    assert int(alone.sum()) <= 2 * switches < len(waits)
