"""Waits against the kernel's own: run_delay in /proc/PID/task/TID/schedstat."""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from noisetop import system
from noisetop.tracer import Target
from tests.kernel.loads import PATIENCE_S, Workload, prepared
from tests.kernel.tracing import Traced, trace

pytestmark = pytest.mark.kernel

CPUS = system.online_cpus()
VICTIM_CPU = max(CPUS)
SENDER_CPU = min(CPUS)
NOWHERE = -1
SHARE = 0.01
PER_WAIT_NS = 1000
"""Between the moments at which the scheduler and its tracepoints take the time."""


def run_delay_ns(tid: int) -> int:
    return int(Path(f"/proc/{tid}/schedstat").read_text().split()[1])


def delays(load: Workload) -> dict[int, int]:
    return {tid: run_delay_ns(tid) for tid in [load.pid, *load.tids.values()]}


def assert_equal_to_the_kernels(traced: Traced, before: dict[int, int], load: Workload) -> None:
    """Of every thread that waited long enough for a percentage to mean something."""
    checked = 0
    for tid, after_ns in delays(load).items():
        waited_ns = after_ns - before[tid]
        wait = traced.waits.get(tid)
        ours_ns = wait.sum_ns if wait else 0
        count = sum(wait.count.values()) if wait else 0
        allowed_ns = SHARE * waited_ns + PER_WAIT_NS * count
        assert abs(ours_ns - waited_ns) <= allowed_ns, (tid, load.tids, wait, waited_ns)
        checked += waited_ns > 1_000_000
    assert checked, "nobody waited"


def traced_process(load: Workload, *steps: object) -> Traced:
    return trace(Target(CPUS, pid=load.pid), load.run)


@pytest.mark.parametrize(
    ("victim_cpu", "acts"),
    [
        pytest.param(VICTIM_CPU, ["nanosleep:0:3000", "wake-urgent:500:500"], id="pinned"),
        pytest.param(NOWHERE, ["compete:0:8000", "nanosleep:0:2000"], id="unpinned"),
        pytest.param(VICTIM_CPU, ["compete:0:10000"], id="preempted"),
    ],
)
def test_waits_equal_the_kernels(victim_cpu: int, acts: list[str]) -> None:
    sender = SENDER_CPU if victim_cpu != NOWHERE else NOWHERE
    with prepared(victim_cpu, sender, *acts) as load:
        before = delays(load)
        traced = traced_process(load)
        assert_equal_to_the_kernels(traced, before, load)


def test_waits_follow_their_thread_across_migrations() -> None:
    """Moved back and forth while it waits: a thread that competes for either CPU."""
    with contextlib.ExitStack() as stack:
        load = stack.enter_context(prepared(NOWHERE, NOWHERE, "compete:0:20000"))
        rivals = [stack.enter_context(prepared(cpu, cpu, "compete:0:12000")) for cpu in CPUS]

        def migrate() -> None:
            for rival in rivals:
                rival.begin()
            load.begin()
            for cpu in itertools.islice(itertools.cycle(CPUS), 300):
                os.sched_setaffinity(load.tids["victim"], {cpu})
                time.sleep(0.003)
            os.sched_setaffinity(load.tids["victim"], set(CPUS))
            load.finish()

        before = delays(load)
        traced = trace(Target(CPUS, pid=load.pid), migrate, *(rival.finish for rival in rivals))
        assert_equal_to_the_kernels(traced, before, load)
        assert len({cpu for cpu in traced.table["cpu"].tolist()}) == len(CPUS)


@contextlib.contextmanager
def quota(percent: int) -> Iterator[Path]:
    """A control group that may use so much of one CPU; yields the file that takes its tasks."""
    period_us = 20_000
    name = f"noisetop-test-{os.getpid()}"
    legacy = Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")
    root = Path("/sys/fs/cgroup/cpu" if legacy.parent.is_dir() else "/sys/fs/cgroup")
    group = root / name
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
        end = time.monotonic() + PATIENCE_S
        while group.exists():
            with contextlib.suppress(OSError):
                group.rmdir()
            assert time.monotonic() < end, "the control group stays busy"
