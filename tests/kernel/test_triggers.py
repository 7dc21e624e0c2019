"""Noise provoked on purpose, and whether the one who made it is named: never another."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from noisetop.events.interruption import INTERRUPTION, Flag, Interruptions
from noisetop.events.trigger import Trigger
from noisetop.machine import system
from noisetop.tracing.target import Target
from tests.kernel import books
from tests.kernel.loads import PATIENCE_S, Workload, parent, prepared, remove_group
from tests.kernel.tracing import Traced, trace

pytestmark = pytest.mark.kernel

SENDER_CPU = min(system.online_cpus())
VICTIM_CPU = max(system.online_cpus())
WATCHED = Target((VICTIM_CPU,))
THREAD_LEVEL = 0
SHARE = 0.99


def provoke(*acts: str, only_process: bool = False) -> tuple[Workload, Traced]:
    with prepared(VICTIM_CPU, SENDER_CPU, *acts) as load:
        target = Target((VICTIM_CPU,), pid=load.pid) if only_process else WATCHED
        return load, trace(target, load.run)


def seen(traced: Traced) -> set[int]:
    """All that lost time."""
    return set(traced.table["victim_tid"].tolist()) | set(traced.waits)


def in_process(load: Workload, traced: Traced, rows: Interruptions) -> Interruptions:
    """Those whose trigger is a thread of the load: others may do the same at the same time."""
    mine: Interruptions = rows[np.isin(traced.tids(rows), list(load.tids.values()))]
    return mine


def assert_named(traced: Traced, rows: Interruptions, name: str, tid: int, count: int) -> None:
    """At least so many of the rows name this task, from its own CPU."""
    named = [
        (trigger, number)
        for trigger, number in traced.causes(rows).items()
        if (trigger.task, trigger.tid, trigger.cpu) == (name, tid, SENDER_CPU)
    ]
    assert sum(number for _, number in named) >= count, traced.causes(rows)


@pytest.mark.parametrize(
    ("kind", "function"),
    [("membarrier", "ipi_mb"), ("munmap", "flush_tlb_func"), ("mprotect", "flush_tlb_func")],
)
def test_a_sibling_that_interrupts_from_another_cpu(kind: str, function: str) -> None:
    load, traced = provoke(f"{kind}:4000:1000", only_process=True)
    mine = in_process(load, traced, traced.rows("ipi", "…", function))
    assert_named(traced, mine, kind, load.tids[kind], count=50)
    assert set(traced.tids(mine)) == {load.tids[kind]}
    assert (mine["trigger_ns"] <= mine["start_ns"]).all()
    assert (mine["trigger_ns"] > 0).all()
    stacks = {traced.stacks[trigger.stack] for trigger in traced.causes(mine)}
    assert all(any(kind in name for name in stack) for stack in stacks), stacks


def test_a_static_key_leads_to_the_process_behind_the_kworker() -> None:
    """Tried again, since the key stays as it is while another program has such a socket open."""
    end = time.monotonic() + PATIENCE_S
    chained: dict[Trigger, int] = {}
    while not chained:
        assert time.monotonic() < end, "no key was flipped: who else takes time stamps of packets?"
        load, traced = provoke("timestamp:200:100")
        causes = traced.causes(traced.rows("ipi", "…", "do_sync_core"))
        chained = {t: count for t, count in causes.items() if t.work == "netstamp_clear"}
    assert sum(chained.values()) >= 20
    assert {t.origin for t in chained} == {f"timestamp {load.tids['timestamp']}"}
    assert all(t.task.startswith("kworker/") and t.cpu == SENDER_CPU for t in chained)


TIMERS = [
    ("timerfd", "timerfd_tmrproc"),
    ("posix-timer", "posix_timer_fn"),
    ("nanosleep", "hrtimer_wakeup"),
    ("futex", "hrtimer_wakeup"),
]


TIMES = 500


@pytest.fixture(scope="module")
def timers() -> tuple[Workload, Traced]:
    """A thread for each kind of timer."""
    return provoke(*(f"{kind}:0:{TIMES}" for kind, _ in TIMERS))


@pytest.mark.parametrize(("kind", "function"), TIMERS)
def test_a_timer_names_who_armed_it(
    kind: str, function: str, timers: tuple[Workload, Traced]
) -> None:
    load, traced = timers
    rows = traced.rows("timer", "local_timer", function)
    tid = load.tids[kind]
    mine = rows[traced.tids(rows) == tid]
    assert TIMES - traced.hidden <= len(mine) <= TIMES
    assert {(t.task, t.cpu) for t in traced.causes(mine)} == {(kind, VICTIM_CPU)}


def test_two_processes_with_two_timers_each() -> None:
    counts = [{"timerfd": 300, "posix-timer": 400}, {"timerfd": 500, "posix-timer": 200}]
    with contextlib.ExitStack() as stack:
        loads = [
            stack.enter_context(
                prepared(VICTIM_CPU, SENDER_CPU, *(f"{k}:0:{n}" for k, n in acts.items()))
            )
            for acts in counts
        ]
        traced = trace(WATCHED, *(load.begin for load in loads), *(load.finish for load in loads))
    for load, acts in zip(loads, counts, strict=True):
        for kind, count in acts.items():
            rows = traced.rows("timer", "local_timer", dict(TIMERS)[kind])
            mine = rows[traced.tids(rows) == load.tids[kind]]
            assert count - traced.hidden <= len(mine) <= count, (kind, load.tids)
            other = dict(TIMERS)["posix-timer" if kind == "timerfd" else "timerfd"]
            wrong = traced.rows("timer", "local_timer", other)
            assert load.tids[kind] not in traced.tids(wrong)


def test_work_that_another_process_queued_on_the_cpu() -> None:
    count = 200
    load, traced = provoke(f"stat-refresh:500:{count}")
    tid = load.tids["stat-refresh"]
    rows = traced.rows("thread", "…", "refresh_vm_stats")
    mine = rows[(traced.tids(rows) == tid) & (rows["flags"] & Flag.CONTINUED == 0)]
    assert_named(traced, mine, "stat-refresh", tid, count=count - traced.hidden)
    assert len(mine) <= count
    others = Counter(traced.tids(rows).tolist())
    assert others[0] <= len(rows) * (1 - SHARE), "queued by nobody"
    assert all(
        traced.sources[number].path[1].startswith(f"kworker/{VICTIM_CPU}")
        for number in np.unique(mine["source"])
    )


def test_a_realtime_thread_that_preempts_names_its_waker() -> None:
    count = 500
    with contextlib.ExitStack() as stack:
        victim = stack.enter_context(prepared(VICTIM_CPU, SENDER_CPU, "spin:1000:800"))
        load = stack.enter_context(prepared(VICTIM_CPU, SENDER_CPU, f"wake-urgent:1000:{count}"))
        target = Target((VICTIM_CPU,), pid=victim.pid)
        traced = trace(target, victim.begin, load.run, victim.finish)
    rows = traced.rows("thread", "urgent")
    (urgent,) = set(rows["tid"][traced.tids(rows) == load.tids["wake-urgent"]].tolist())
    woken = rows[(rows["tid"] == urgent) & (rows["trigger"] != 0)]
    assert len(woken) >= count // 4
    assert set(traced.tids(woken)) == {load.tids["wake-urgent"]}
    assert_named(traced, woken, "wake-urgent", load.tids["wake-urgent"], count=len(woken))


def test_a_flood_of_packets_names_the_task_that_sent_them() -> None:
    count = 2000
    before = books.softirqs()
    load, traced = provoke(f"flood:5000:{count}")
    ran = books.softirqs()["NET_RX", VICTIM_CPU] - before["NET_RX", VICTIM_CPU]
    rows = traced.rows("softirq", "NET_RX")
    named = rows[traced.tids(rows) == load.tids["flood"]]
    # Where ksoftirqd has been woken it takes several at once: the kernel counts fewer.
    assert min(count, ran) * SHARE <= len(named) + traced.hidden, (ran, traced.causes(rows))
    assert count // 2 <= len(named) <= count
    assert {t.cpu for t in traced.causes(named)} == {VICTIM_CPU}


def test_two_threads_of_the_victim_on_one_cpu() -> None:
    load, traced = provoke("compete:0:3000", only_process=True)
    assert len(traced.rows("thread", "self", "compete")) >= 20
    assert len(traced.rows("thread", "self", "victim")) >= 20
    for name in ("compete", "victim"):
        rows = traced.rows("thread", "self", name)
        assert set(rows["tid"].tolist()) == {load.tids[name]}
        assert set(rows["victim_tid"]) <= {*load.tids.values(), load.pid}
        assert load.tids[name] not in traced.rows("thread", name)["tid"], "no stranger"


@pytest.mark.side_by_side
def test_threads_that_are_born_later_are_victims_too() -> None:
    count = 100
    load, traced = provoke(f"give-birth:0:{count}", only_process=True)
    assert len(set(load.born)) == count
    assert len(seen(traced) & set(load.born)) >= count - traced.hidden


@pytest.mark.side_by_side
@pytest.mark.parametrize("follow", [True, False])
def test_a_child_is_a_victim_when_asked_for(follow: bool) -> None:
    with parent(VICTIM_CPU, SENDER_CPU, "compete:0:2000") as load:
        target = Target((VICTIM_CPU,), pid=load.pid, follow=follow)
        traced = trace(target, load.begin, load.meet, load.run)
    children = {load.tids["victim"], load.tids["compete"]}
    assert children & seen(traced) == (children if follow else set())


@pytest.mark.side_by_side
def test_a_control_group_is_a_victim_and_its_neighbour_is_not() -> None:
    unified = Path("/sys/fs/cgroup/unified")
    root = unified if unified.is_dir() else Path("/sys/fs/cgroup")
    group = root / f"noisetop-test-{os.getpid()}"
    group.mkdir()
    try:
        with contextlib.ExitStack() as stack:
            inside, outside = (
                stack.enter_context(prepared(VICTIM_CPU, SENDER_CPU, "compete:0:2000"))
                for _ in range(2)
            )
            (group / "cgroup.procs").write_text(str(inside.pid))
            target = Target((VICTIM_CPU,), cgroup_id=group.stat().st_ino, cgroup_level=1)
            traced = trace(target, outside.begin, inside.begin, inside.finish, outside.finish)
    finally:
        remove_group(group)
    assert {inside.tids["victim"], inside.tids["compete"]} <= seen(traced)
    assert not set(outside.tids.values()) & seen(traced)
    strangers = traced.rows("thread", "compete")
    assert outside.tids["compete"] in strangers["tid"]
    assert inside.tids["compete"] not in strangers["tid"]
    assert set(traced.rows("thread", "self", "compete")["tid"]) == {inside.tids["compete"]}


def doze() -> None:
    """Timers that find the CPU idle, unless somebody else uses it."""
    os.sched_setaffinity(0, {VICTIM_CPU})
    for _ in range(500):
        time.sleep(0.0003)


def dozed() -> Traced:
    def load() -> None:
        sleeper = threading.Thread(target=doze)
        sleeper.start()
        sleeper.join()

    return trace(WATCHED, load)


def test_nobody_loses_time_on_an_idle_cpu() -> None:
    end = time.monotonic() + PATIENCE_S
    idle = np.empty(0, INTERRUPTION)
    while len(idle) < 20:
        assert time.monotonic() < end, "the CPU is never idle"
        traced = dozed()
        idle = traced.table[(traced.table["tid"] == 0) & (traced.table["level"] > THREAD_LEVEL)]
    assert (idle["victim_tid"] == 0).all()


def test_somebody_does_on_a_busy_one() -> None:
    load, traced = provoke("timerfd:0:300")
    rows = traced.table[traced.table["tid"] == load.tids["victim"]]
    interrupted = rows[rows["level"] > THREAD_LEVEL]
    assert len(interrupted) >= 20
    assert (interrupted["victim_tid"] == load.tids["victim"]).all()


def test_two_senders_are_never_taken_for_each_other() -> None:
    """Both act on CPU 0 at periods that drift past each other; the function tells them apart."""
    load, traced = provoke("membarrier:3800:4000", "munmap:2600:2700", only_process=True)
    for kind, function in (("membarrier", "ipi_mb"), ("munmap", "flush_tlb_func")):
        rows = traced.rows("ipi", "…", function)
        named = in_process(load, traced, rows)
        assert len(named) >= 200
        causes = traced.causes(named)
        assert (kind, load.tids[kind]) in {(t.task, t.tid) for t in causes}
        for other in (t for t in causes if t.tid != load.tids[kind]):
            # Its own doing, as its stack tells: a thread gives back memory when it ends.
            assert function == "flush_tlb_func", other
            assert not any("membarrier" in step for step in traced.stacks[other.stack]), other
            assert np.sum(traced.tids(named) == other.tid) <= (1 - SHARE) * len(named), other
        # An interrupt meant for who ran before can arrive late, but hardly ever does.
        of_victim = rows[rows["tid"] == load.tids["victim"]]
        elsewhere = len(of_victim) - len(in_process(load, traced, of_victim))
        assert elsewhere <= (1 - SHARE) * len(of_victim), traced.causes(of_victim)


def many() -> tuple[Workload, Traced]:
    return provoke(
        "membarrier:1800:2700",
        "munmap:1400:2100",
        "timerfd:0:2000",
        "nanosleep:0:2000",
        "stat-refresh:200:300",
        "wake-urgent:600:900",
        "flood:1000:1500",
    )


def test_nearly_all_have_a_trigger() -> None:
    load, traced = many()
    assert sum(cpu["trigger"] for cpu in traced.losses.by_cpu.values()) == 0
    classes = np.array([source.noise_class for source in traced.sources])[traced.table["source"]]
    for name in ("ipi", "timer"):
        rows = traced.table[classes == name]
        unknown = rows[rows["trigger"] == 0]
        assert len(rows) >= 2000
        assert len(unknown) <= (1 - SHARE) * len(rows), described(traced, unknown)
    turns = traced.table[traced.table["level"] == THREAD_LEVEL]
    # In a hidden slice interrupts may wake as many threads of other programs as they like.
    mine = np.isin(turns["tid"], list(load.tids.values()))
    assert_wakers_known(traced, turns[mine] if traced.hidden else turns)


def assert_wakers_known(traced: Traced, rows: Interruptions) -> None:
    """A thread that was preempted comes back without being woken; the waits tell how often user
    threads were. Of kernel threads they tell nothing, but these seldom are."""
    unknown = Counter(rows["tid"][rows["trigger"] == 0].tolist())
    unexplained = 0
    for tid, count in unknown.items():
        preempted = traced.waits[tid].count.get("preempted", 0) if tid in traced.waits else 0
        unexplained += max(count - preempted, 0)
    woken = len(rows) - sum(unknown.values()) + unexplained
    assert woken >= 2000
    assert unexplained <= (1 - SHARE) * woken, described(traced, rows[rows["trigger"] == 0])


def described(traced: Traced, rows: Interruptions) -> Counter[str]:
    return Counter(traced.sources[number].label for number in rows["source"].tolist())
