"""The tick and other periodic work."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.trees import BENCHMARK, CPU, FAIL, PASS, SKIP, THROUGHPUT, WARN, Case

CASES = [
    Case("C02", PASS, "stops"),
    Case("C02", FAIL, "on CPU 3", {f"{CPU}/nohz_full": "2\n"}, command="change nohz_full=2-3"),
    Case(
        "C02",
        FAIL,
        "on CPUs 2-3",
        {f"{CPU}/nohz_full": "(null)\n", "/proc/cmdline": "quiet"},
        command="add nohz_full=2-3",
        undo="remove",
    ),
    Case(
        "C02",
        FAIL,
        "on CPUs 2-3",
        {f"{CPU}/nohz_full": "", "/proc/cmdline": "", "/usr/sbin/grubby": ""},
        command="grubby --update-kernel=ALL --args=nohz_full=2-3",
        undo="--remove-args",
    ),
    Case("C02", WARN, "100 to 1000 times", {f"{CPU}/nohz_full": ""}, goal=BENCHMARK),
    Case("C02", FAIL, "cannot stop its tick", {f"{CPU}/nohz_full": None}),
    Case("C02", SKIP, "does not exist", {f"{CPU}/nohz_full": None, f"{CPU}/isolated": None}),
    Case("C02", SKIP, "holds no CPU list", {f"{CPU}/nohz_full": "2-" + "9" * 5000}),
    Case("C02", SKIP, "goal throughput", goal=THROUGHPUT),
    Case("C10", PASS, "The fair server is off on these CPUs"),
    Case(
        "C10",
        PASS,
        "This kernel has no fair server",
        {"/sys/kernel/debug/sched/fair_server/": None, "/sys/kernel/debug/sched/debug": ""},
    ),
    Case(
        "C10",
        WARN,
        "The fair server's timer runs on CPU 3 about once a second",
        {"/sys/kernel/debug/sched/fair_server/cpu3/runtime": "50000000"},
        command="echo 0 > /sys/kernel/debug/sched/fair_server/cpu3/runtime",
        undo="echo 50000000",
    ),
    Case(
        "C10",
        PASS,
        "The fair server is on, which is not relevant for this goal",
        {"/sys/kernel/debug/sched/fair_server/cpu3/runtime": "50000000", f"{CPU}/nohz_full": ""},
        goal=BENCHMARK,
    ),
    Case("C10", SKIP, "debugfs is not mounted", {"/sys/kernel/debug/": None}),
    Case(
        "C10",
        SKIP,
        "holds no number",
        {"/sys/kernel/debug/sched/fair_server/cpu2/runtime": b"\xff\x00"},
    ),
    Case("C11", PASS, "Timer migration is on"),
    Case(
        "C11",
        PASS,
        "Timer migration is off; relevant only for CPUs in nohz_full=",
        {"/proc/sys/kernel/timer_migration": "0", f"{CPU}/nohz_full": ""},
    ),
    Case(
        "C11",
        WARN,
        "stay on CPUs 2-3",
        {"/proc/sys/kernel/timer_migration": "0"},
        command="sysctl -w kernel.timer_migration=1",
        undo="sysctl -w kernel.timer_migration=0",
    ),
    Case("C11", SKIP, "does not exist", {"/proc/sys/kernel/timer_migration": None}),
    Case("C12", PASS, "every 120 s"),
    Case(
        "C12",
        WARN,
        "each 1 s",
        {"/proc/sys/vm/stat_interval": "1"},
        command="vm.stat_interval=120",
        undo="vm.stat_interval=1",
    ),
    Case(
        "C12",
        SKIP,
        "is a directory",
        {"/proc/sys/vm/stat_interval": None, "/proc/sys/vm/stat_interval/x": ""},
    ),
    Case("C17", PASS, "With 4 CPUs"),
    Case(
        "C17", PASS, "spread over time", {f"{CPU}/online": "0-15", "/proc/cmdline": "skew_tick=1"}
    ),
    Case(
        "C17",
        WARN,
        "All 16 CPUs tick",
        {f"{CPU}/online": "0-15", f"{CPU}/nohz_full": ""},
        command="add skew_tick=1",
    ),
    Case("C17", SKIP, "its phase does not matter", {f"{CPU}/online": "0-15"}),
    Case("C17", SKIP, "does not exist", {f"{CPU}/online": "0-15", "/proc/cmdline": None}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.check}-{case.status}-{case.says}")
def test_case(case: Case, tmp_path: Path) -> None:
    case.verify(tmp_path)
