"""RCU callbacks and grace periods."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.trees import BENCHMARK, CPU, FAIL, KTHREAD, PASS, SKIP, WARN, Case, task

CASES = [
    Case("C06", PASS, "The RCU callbacks of these CPUs are offloaded"),
    Case(
        "C06",
        PASS,
        "The RCU callbacks of these CPUs are offloaded",
        {f"{CPU}/nohz_full": "", "/proc/cmdline": "rcu_nocbs=2-3"},
    ),
    Case(
        "C06",
        PASS,
        "The RCU callbacks of these CPUs are offloaded",
        {f"{CPU}/nohz_full": "", "/proc/cmdline": "rcu_nocbs=all"},
    ),
    Case(
        "C06",
        FAIL,
        "RCU callbacks run on CPU 3",
        {f"{CPU}/nohz_full": "", "/proc/cmdline": "rcu_nocbs=2"},
        command="rcu_nocbs=2-3",
    ),
    Case(
        "C06",
        WARN,
        "RCU callbacks run on CPUs 2-3",
        {f"{CPU}/nohz_full": "", "/proc/cmdline": ""},
        goal=BENCHMARK,
    ),
    Case("C06", SKIP, "does not exist", {f"{CPU}/nohz_full": "", "/proc/cmdline": None}),
    Case("C07", PASS, "stay on other CPUs"),
    Case("C07", PASS, "There are no RCU callback threads", {"/proc/30/": None}),
    Case(
        "C07",
        WARN,
        "may run here: rcuog/2",
        task(30, "rcuog/2", "0-3", flags=KTHREAD),
        command="taskset -pc 0-1 30",
        undo="taskset -pc 0-3 30",
    ),
    Case("C07", FAIL, "ran here", task(30, "rcuog/2", "0-3", flags=KTHREAD, cpu=3)),
    Case("C07", SKIP, "hidden", {"/proc/2/": None}),
    Case("C13", PASS, "Expedited RCU grace periods are off"),
    Case("C13", PASS, "Expedited RCU grace periods are off", {"/sys/kernel/rcu_expedited": "1"}),
    Case(
        "C13",
        WARN,
        "Expedited RCU grace periods may send IPIs to these CPUs",
        {"/sys/kernel/rcu_normal": "0"},
        command="echo 1 > /sys/kernel/rcu_normal",
        undo="echo 0",
    ),
    Case(
        "C13",
        FAIL,
        "All RCU grace periods are expedited: each sends IPIs to all",
        {"/sys/kernel/rcu_normal": "0", "/sys/kernel/rcu_expedited": "1"},
    ),
    Case(
        "C13",
        PASS,
        "RCU grace periods are expedited only on request",
        {"/sys/kernel/rcu_normal": "0"},
        cpus=(1,),
        goal=BENCHMARK,
    ),
    Case("C13", SKIP, "does not exist", {"/sys/kernel/rcu_normal": None}),
    Case("C14", PASS, "waits 1000 ms"),
    Case(
        "C14",
        WARN,
        "Long system calls and page faults turn the tick on for CPUs",
        {"/sys/module/rcutree/parameters/nohz_full_patience_delay": "0"},
        command="rcutree.nohz_full_patience_delay=1000",
    ),
    Case(
        "C14",
        SKIP,
        "does not exist",
        {"/sys/module/rcutree/parameters/nohz_full_patience_delay": None},
    ),
    Case("C14", SKIP, "Relevant only for CPUs in nohz_full= (see C02)", cpus=(1,)),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.check}-{case.status}-{case.says}")
def test_case(case: Case, tmp_path: Path) -> None:
    case.verify(tmp_path)
