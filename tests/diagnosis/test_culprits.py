"""Who is behind noise: processes, and who starts what is gone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from noisetop.diagnosis import diagnose
from noisetop.diagnosis.evidence import Evidence, Share
from noisetop.diagnosis.finding import Finding
from noisetop.events.task_directory import TaskDirectory
from noisetop.events.task_names import TaskInfo
from noisetop.events.trigger import Trigger
from noisetop.summary.short_lived import ShortLived
from noisetop.summary.trigger_totals import TriggerSummary
from tests.checks.trees import Content, machine, task
from tests.diagnosis.cases import share
from tests.diagnosis.test_rules import evidence

SCRIPT, SHELL = 4711, 4000
CHILDREN = (5001, 5002, 5003)


def ran(name: str, *tids: int, net_ns: int = 1_000) -> Share:
    """A thread that stands for several tasks of that name, one interruption each."""
    tasks = tuple(TriggerSummary(Trigger(tid=tid), 1, net_ns, net_ns) for tid in tids)
    one = share("thread", name, count=len(tids), net_ns=net_ns * len(tids))
    return replace(one, tasks=tasks)


def starting(*shares: Share, binder: bool = False) -> Evidence:
    """A script that starts ls again and again, in 1 s."""
    infos = {tid: TaskInfo(tid, SCRIPT, kernel=False, cgroup=0) for tid in CHILDREN}
    infos[SCRIPT] = TaskInfo(SCRIPT, SHELL, kernel=False, cgroup=0)
    names = dict.fromkeys(CHILDREN, "ls") | {SCRIPT: "cron.sh", SHELL: "bash"}
    forked = ran("taskset" if binder else "cron.sh", *CHILDREN, net_ns=100)
    known = evidence(ran("ls", *CHILDREN), forked, *shares)
    started = (ShortLived("ls", SCRIPT, 3, 6, 3_300),)
    return replace(known, directory=TaskDirectory(names, infos), short_lived=started)


def test_what_a_script_starts_is_one_culprit_with_the_script() -> None:
    known = starting(ran("cron.sh", SCRIPT, net_ns=50), ran("app", 77, net_ns=10))
    (finding,) = diagnose(known).findings
    script, app = finding.culprits
    assert script.label == "3 starts/s of ls by cron.sh (PID 4711)"
    assert (script.name, script.pid, script.starts_per_s) == ("ls", SCRIPT, 3)
    assert (script.count, script.net_ns) == (7, 3_350)
    assert (app.label, app.pid, app.starts_per_s) == ("app 77", 0, 0)
    assert finding.cause.endswith(": 3 starts/s of ls by cron.sh (PID 4711), app")
    assert sum(one.net_ns for one in finding.culprits) == finding.net_ns


def advised(root: Path, known: Evidence, changes: dict[str, Content], pid: int = 0) -> Finding:
    seen = replace(known, machine=machine(root, changes, pid=pid or None))
    return diagnose(seen).findings[0]


def test_the_parent_of_tasks_that_are_gone_is_moved(tmp_path: Path) -> None:
    script, shell = task(SCRIPT, "cron.sh", "0-3"), task(SHELL, "bash", "0-3")
    found = advised(tmp_path / "a", starting(), script | shell)
    assert (found.remedy, found.undo) == ("taskset -pc 0-1 4711", "taskset -pc 0-3 4711")
    few = ran("app", 77, net_ns=10)
    also = advised(tmp_path / "b", starting(few), script | task(77, "app", "0-3"))
    assert also.remedy == "taskset -pc 0-1 4711", "what takes next to nothing needs no command"
    much = ran("app", 77, net_ns=9_000)
    also = advised(tmp_path / "c", starting(much), script | task(77, "app", "0-3"))
    assert also.remedy == "for t in 4711 77; do taskset -pc 0-1 $t; done"
    own = advised(tmp_path / "d", starting(), script, pid=SCRIPT)
    assert "4711" not in own.remedy


@pytest.mark.parametrize(("allowed", "binder"), [("0-1", False), ("0-3", True)])
def test_who_binds_what_it_starts_is_stopped(allowed: str, binder: bool, tmp_path: Path) -> None:
    """It may not run there itself, or runs taskset: where it runs does not matter."""
    known = starting(ran("app", 77, net_ns=9_000), binder=binder)
    running = task(SCRIPT, "cron.sh", allowed) | task(77, "app", "0-3")
    found = advised(tmp_path / "a", known, running)
    assert found.remedy == "taskset -pc 0-1 77; kill -STOP 4711"
    assert found.undo == "taskset -pc 0-3 77; kill -CONT 4711"
    assert found.shell
    found = advised(tmp_path / "b", starting(binder=binder), task(SCRIPT, "cron.sh", allowed))
    assert (found.remedy, found.undo) == ("kill -STOP 4711", "kill -CONT 4711")


def test_a_program_with_the_name_of_a_kernel_thread_is_a_program() -> None:
    for name in ("migration/1", "ksoftirqd/1", "kworker/1:0", "swapper/1", "rcu_preempt"):
        poses = replace(ran(name, 77), user=True)
        (finding,) = diagnose(evidence(poses)).findings
        assert finding.key == "other-program", name
        (finding,) = diagnose(evidence(ran(name, 77))).findings
        assert finding.key != "other-program", name
