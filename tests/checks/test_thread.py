"""Other threads on the watched CPUs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.trees import BOUND, FAIL, KTHREAD, PASS, SKIP, WARN, Case, task

CASES = [
    Case("C25", PASS, "All 2 movable kernel threads are kept off these CPUs"),
    Case(
        "C25",
        FAIL,
        "1 movable kernel threads may run here: kswapd0",
        task(31, "kswapd0", "0-3", flags=KTHREAD),
        command="taskset -pc 0-1 31",
        undo="taskset -pc 0-3 31",
    ),
    Case(
        "C25",
        PASS,
        "All 2 movable kernel threads are kept off these CPUs",
        {
            **task(40, "kworker/2:0", "2", flags=KTHREAD | BOUND),
            **task(41, "irq/36-eth0", "2", flags=KTHREAD),
        },
    ),
    Case("C25", SKIP, "hidden", {"/proc/2/": None}),
    Case(
        "C25",
        SKIP,
        "no task can be seen",
        {
            "/proc/1/": None,
            "/proc/2/": None,
            "/proc/20/": None,
            "/proc/21/": None,
            "/proc/22/": None,
            "/proc/23/": None,
            "/proc/30/": None,
            "/proc/31/": None,
            "/proc/500/": None,
        },
    ),
    Case("C26", PASS, "stay on other CPUs"),
    Case(
        "C26",
        WARN,
        "may run here: cron (70)",
        task(70, "cron", "0-3"),
        command="taskset -pc 0-1 70",
        undo="taskset -pc 0-3 70",
    ),
    Case("C26", FAIL, "ran here: cron (70)", task(70, "cron", "0-3", cpu=3)),
    Case(
        "C26",
        FAIL,
        "2 threads",
        {**task(70, "cron", "0-3", cpu=3), **task(71, "at", "1-2", cpu=2)},
        command="for t in 70 71; do taskset -pc 0-1 $t; done",
        undo="taskset -pc 0-3 70; taskset -pc 1-2 71",
    ),
    Case("C26", SKIP, "hidden", {"/proc/2/": None}),
    Case("C26", SKIP, "some tasks may not be read", {"/proc/500/task/500/status": None}),
    Case("C27", PASS, "on other CPUs"),
    Case(
        "C27",
        WARN,
        "may use CPUs 2-3",
        task(1, "systemd", "0-3"),
        command="CPUAffinity=0-1",
        undo="daemon-reexec",
    ),
    Case("C27", FAIL, "may use CPU 1", cpus=(1,)),
    Case("C27", SKIP, "services of the host", {"/.dockerenv": ""}),
    Case("C27", SKIP, "does not exist", {"/proc/1/": None}),
    Case("C58", PASS, "2 per-CPU kernel threads were idle for 2.0 s"),
    Case(
        "C58",
        PASS,
        "4 per-CPU kernel threads were idle for 2.0 s",
        task(31, "kswapd0", "0-3", flags=KTHREAD),
        task(31, "kswapd0", "0-3", flags=KTHREAD, switches=99),
        cpus=(0, 1, 2, 3),
    ),
    Case(
        "C58",
        WARN,
        "ksoftirqd/2 1 times",
        later=task(22, "ksoftirqd/2", "2", flags=KTHREAD | BOUND, switches=6),
    ),
    Case(
        "C58",
        FAIL,
        "ksoftirqd/2 9 times",
        later=task(22, "ksoftirqd/2", "2", flags=KTHREAD | BOUND, switches=14),
    ),
    Case(
        "C58",
        FAIL,
        "idle_inject/3",
        task(50, "idle_inject/3", "3", flags=KTHREAD | BOUND, switches=1),
        task(50, "idle_inject/3", "3", flags=KTHREAD | BOUND, switches=2),
    ),
    Case("C58", SKIP, "hidden", {"/proc/2/": None}),
    Case(
        "C58",
        SKIP,
        "no per-CPU kernel thread is bound to these CPUs",
        {"/proc/22/": None, "/proc/23/": None},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.check}-{case.status}-{case.says}")
def test_case(case: Case, tmp_path: Path) -> None:
    case.verify(tmp_path)


def test_systemd_setting_is_cited(tmp_path: Path) -> None:
    path = "/etc/systemd/system.conf.d/cpus.conf"
    changes = {**task(1, "systemd", "0-3"), path: "[Manager]\nCPUAffinity=0 1\n"}
    result = Case("C27", WARN, "", changes).verify(tmp_path)
    assert [(r.path, r.value) for r in result.verdict.readings[1:]] == [(path, "CPUAffinity=0 1")]


def test_names_match_those_of_events_and_nothing_else(tmp_path: Path) -> None:
    name = "rcu_exp_par_gp_kthread_worker/0"
    result = Case("C25", FAIL, name, task(32, name, "0-3", flags=KTHREAD)).verify(tmp_path)
    assert result.explains_source(("thread", name[:15]))
    odd = Case("C26", FAIL, "a*", task(70, "a*[b]", "0-3", cpu=2)).verify(tmp_path / "odd")
    assert odd.explains_source(("thread", "a*[b]", "x"))
    assert not odd.explains_source(("thread", "abb"))
