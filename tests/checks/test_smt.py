"""Cores that run two hardware threads."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.trees import CPU, FAIL, PASS, SKIP, WARN, Case, stat

CASES = [
    Case("C37", PASS, "No other hardware thread"),
    Case("C37", PASS, "No core runs two", {f"{CPU}/smt/active": "0"}),
    Case(
        "C37",
        FAIL,
        "CPU 0, not isolated, share a core with CPU 2",
        {f"{CPU}/cpu2/topology/thread_siblings_list": "0,2"},
        command=f"echo 0 > {CPU}/cpu0/online",
        undo="echo 1 >",
    ),
    Case(
        "C37",
        WARN,
        "CPU 2 are isolated but busy",
        {f"{CPU}/cpu3/topology/thread_siblings_list": "2-3"},
        {"/proc/stat": stat(user={2: 190}, idle=1010)},
        cpus=(3,),
    ),
    Case(
        "C37",
        PASS,
        "isolated and idle",
        {f"{CPU}/cpu3/topology/thread_siblings_list": "2-3"},
        {"/proc/stat": stat(idle=1200)},
        cpus=(3,),
    ),
    Case(
        "C37",
        WARN,
        "isolated but busy",
        {f"{CPU}/cpu3/topology/thread_siblings_list": "2-3"},
        {"/proc/stat": stat(user={2: 20}, idle=1180)},
        cpus=(3,),
    ),
    Case("C37", SKIP, "does not exist", {f"{CPU}/cpu2/topology/thread_siblings_list": None}),
    Case(
        "C37",
        SKIP,
        "only the host can tell what shares a core with a virtual CPU",
        {"/proc/cpuinfo": "flags : tsc hypervisor"},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.check}-{case.status}-{case.says}")
def test_case(case: Case, tmp_path: Path) -> None:
    case.verify(tmp_path)
