"""The program that the CPUs are for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.trees import BENCHMARK, FAIL, PASS, SKIP, WARN, Case, task

CASES = [
    Case("C29", PASS, "Each of 1 threads"),
    Case(
        "C29",
        WARN,
        "trader (500)",
        task(500, "trader", "2-3", cpu=2),
        command="taskset -cp 2 500",
        undo="taskset -cp 2-3 500",
    ),
    Case("C29", FAIL, "cron (70)", task(70, "cron", "0-3"), pid=70),
    Case("C29", SKIP, "no program is bound", {"/proc/500/": None}),
    Case("C29", SKIP, "process 77 cannot be seen", pid=77),
    Case("C30", PASS, "No other program"),
    Case(
        "C30",
        WARN,
        "rival (70)",
        {**task(500, "trader", "2"), **task(70, "rival", "0-2", policy=1)},
        command="taskset -pc 0-1 70",
        undo="0-2",
    ),
    Case(
        "C30",
        FAIL,
        "Several threads of the program compete for CPU 2",
        {**task(500, "trader", "2", policy=2), **task(501, "feed", "2", pid=500, policy=2)},
    ),
    Case("C30", SKIP, "no program is bound", {"/proc/500/": None}),
    Case("C30", SKIP, "hidden", {"/proc/2/": None}),
    Case("C31", PASS, "Real-time throttling is off"),
    Case(
        "C31",
        WARN,
        "Real-time throttling is on",
        {"/proc/sys/kernel/sched_rt_runtime_us": "950000"},
        command="kernel.sched_rt_runtime_us=-1",
        undo="950000",
    ),
    Case("C31", SKIP, "does not exist", {"/proc/sys/kernel/sched_rt_runtime_us": None}),
    Case("C31", SKIP, "goal benchmark", goal=BENCHMARK),
    Case("C32", PASS, "No quota"),
    Case(
        "C32",
        FAIL,
        "A CPU quota throttles the program",
        {"/sys/fs/cgroup/fast/cpu.max": "50000 100000"},
        command="echo max > /sys/fs/cgroup/fast/cpu.max",
        undo="echo '50000 100000' >",
    ),
    Case(
        "C32",
        FAIL,
        "A CPU quota throttles the program",
        {
            "/proc/500/cgroup": "0::/fast/in\n",
            "/sys/fs/cgroup/fast/in/cpu.max": "max 1",
            "/sys/fs/cgroup/fast/cpu.max": "9 10",
        },
    ),
    Case(
        "C32",
        FAIL,
        "A CPU quota throttles the program",
        {
            "/proc/500/cgroup": "4:cpu,cpuacct:/v1\n",
            "/sys/fs/cgroup/cpu/v1/cpu.cfs_quota_us": "5000",
        },
        command="echo -1 >",
    ),
    Case("C32", SKIP, "outside this container", {"/.dockerenv": ""}),
    Case("C32", SKIP, "no program is bound", {"/proc/500/": None}),
    Case("C42", PASS, "The program's memory is locked"),
    Case(
        "C42",
        WARN,
        "The program's memory is not locked (no mlockall), although",
        {
            **task(500, "trader", "2", status="VmLck:\t0 kB\nVmRSS:\t900 kB\n"),
            "/proc/500/limits": "Max locked memory  unlimited  unlimited  bytes\n",
        },
    ),
    Case(
        "C42",
        WARN,
        "The program's memory is not locked, and its memlock limit",
        {
            **task(500, "trader", "2", status="VmLck:\t0 kB\nVmRSS:\t900 kB\n"),
            "/proc/500/limits": "Max locked memory  65536  65536  bytes\n",
        },
    ),
    Case(
        "C42",
        FAIL,
        "The program had 3 major page faults",
        later=task(500, "trader", "2", faults=3, status="VmLck:\t900 kB\nVmRSS:\t900 kB\n"),
    ),
    Case("C42", SKIP, "shows no VmLck", task(500, "trader", "2")),
    Case("C49", PASS, "these CPUs only"),
    Case(
        "C49",
        WARN,
        "The program's cgroup also contains other CPUs: only its",
        {"/sys/fs/cgroup/fast/cpuset.cpus.effective": "0-3"},
    ),
    Case(
        "C49",
        FAIL,
        "off CPU 3",
        {
            "/sys/fs/cgroup/fast/cpuset.cpus.effective": "0-2",
            "/sys/fs/cgroup/fast/cpuset.cpus": "0-2",
        },
        command="echo 2-3 > /sys/fs/cgroup/fast/cpuset.cpus",
        undo="0-2",
    ),
    Case(
        "C49",
        SKIP,
        "no cpuset",
        {"/proc/500/cgroup": None, "/sys/fs/cgroup/cpuset.cpus.effective": None},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.check}-{case.status}-{case.says}")
def test_case(case: Case, tmp_path: Path) -> None:
    case.verify(tmp_path)
