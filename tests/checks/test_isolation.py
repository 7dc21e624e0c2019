"""Isolation by the scheduler."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.trees import BENCHMARK, CPU, FAIL, PASS, SKIP, WARN, Case

CASES = [
    Case("C03", PASS, "keeps other tasks off"),
    Case("C03", PASS, "keeps other tasks off", {f"{CPU}/isolated": "\n"}),
    Case("C03", PASS, "keeps other tasks off", {"/sys/fs/cgroup/cpuset.cpus.isolated": None}),
    Case(
        "C03",
        FAIL,
        "any task on CPU 1",
        cpus=(1, 2),
        command="echo 1-2 > /sys/fs/cgroup/isolated/cpuset.cpus",
        undo="rmdir",
    ),
    Case(
        "C03",
        FAIL,
        "any task on CPU 1",
        {"/sys/fs/cgroup/cgroup.controllers": "memory", "/proc/cmdline": ""},
        cpus=(1,),
        command="isolcpus=domain,managed_irq,1",
    ),
    Case(
        "C03",
        WARN,
        "incomplete",
        {f"{CPU}/isolated": "", "/sys/fs/cgroup/cpuset.cpus.isolated": ""},
        command="partition",
    ),
    Case("C03", WARN, "any task", cpus=(1,), goal=BENCHMARK),
    Case(
        "C03",
        SKIP,
        "does not exist",
        {f"{CPU}/isolated": None, "/sys/fs/cgroup/cpuset.cpus.isolated": None},
    ),
    Case(
        "C03",
        SKIP,
        "container does not see",
        {f"{CPU}/isolated": "", "/sys/fs/cgroup/cpuset.cpus.isolated": None, "/.dockerenv": ""},
    ),
    Case("C05", PASS, "Left for housekeeping: CPUs 0-1"),
    Case("C05", FAIL, "Every CPU is isolated", {f"{CPU}/isolated": "0-3"}),
    Case("C05", WARN, "Every CPU is watched", cpus=(0, 1, 2, 3)),
    Case(
        "C05",
        WARN,
        "memory node node1",
        {
            "/sys/devices/system/node/node0/cpulist": "0-1",
            "/sys/devices/system/node/node1/cpulist": "2-3",
        },
    ),
    Case(
        "C05",
        WARN,
        "One housekeeping CPU serves 15 CPUs",
        {
            f"{CPU}/online": "0-15",
            f"{CPU}/isolated": "1-15",
            "/sys/devices/system/node/node0/cpulist": "0-15",
        },
    ),
    Case("C05", SKIP, "does not exist", {f"{CPU}/online": None}),
    Case("C28", PASS, "The partition with these CPUs is valid"),
    Case(
        "C28",
        FAIL,
        "rejects the partition",
        {"/sys/fs/cgroup/fast/cpuset.cpus.partition": "isolated invalid"},
    ),
    Case(
        "C28",
        WARN,
        "still balances load over its CPUs",
        {"/sys/fs/cgroup/fast/cpuset.cpus.partition": "root"},
        command="echo isolated > /sys/fs/cgroup/fast/cpuset.cpus.partition",
        undo="echo root",
    ),
    Case(
        "C28", SKIP, "No cpuset partition", {"/sys/fs/cgroup/fast/cpuset.cpus.partition": "member"}
    ),
    Case("C28", SKIP, "No cpuset partition", cpus=(1,)),
    Case("C28", SKIP, "not mounted", {"/proc/mounts": "proc /proc proc rw 0 0"}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.check}-{case.status}-{case.says}")
def test_case(case: Case, tmp_path: Path) -> None:
    case.verify(tmp_path)


def test_reason_of_the_kernel_is_shown(tmp_path: Path) -> None:
    text = "isolated invalid (Parent is not a partition root)"
    changes = {"/sys/fs/cgroup/fast/cpuset.cpus.partition": text}
    result = Case("C28", FAIL, "", changes).verify(tmp_path)
    assert "(Parent is not a partition root)" in result.caveat


def test_deep_cgroups_are_searched(tmp_path: Path) -> None:
    deep = "/sys/fs/cgroup/a/b/c"
    changes = {
        "/sys/fs/cgroup/fast/cpuset.cpus.partition": "member",
        "/sys/fs/cgroup/a/cpuset.cpus": "2-3",
        "/sys/fs/cgroup/a/b/cpuset.cpus": "2-3",
        f"{deep}/cpuset.cpus": "2-3",
        f"{deep}/cpuset.cpus.partition": "root",
    }
    result = Case("C28", WARN, "still balances load over its CPUs", changes).verify(tmp_path)
    assert result.verdict.readings[0].path == f"{deep}/cpuset.cpus.partition"
