"""Changes of the isolation are noticed where they concern watched CPUs."""

from __future__ import annotations

import threading
from pathlib import Path

from noisetop.counters.isolation_changes import Changes
from noisetop.tracing.isolation_watch import IsolationWatch
from tests.machine.test_isolation_settings import tree

AFFINITY = "proc/irq/36/smp_affinity_list"
PARTITION = "sys/fs/cgroup/rt/cpuset.cpus.partition"


def machine(root: Path) -> None:
    tree(
        root,
        {
            "proc/mounts": "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0",
            AFFINITY: "0-3",
            "proc/irq/37/smp_affinity_list": "0",
            "sys/fs/cgroup/rt/cpuset.cpus": "2-3",
            PARTITION: "isolated",
        },
    )


def changed(root: Path, files: dict[str, str], watched: int = 2) -> list[tuple[str, str, str]]:
    """What is told after these files were written, each time all of it."""
    told: list[Changes] = []
    watch = IsolationWatch(frozenset({watched}), told.append, root, interval_s=14 * 86_400)
    watch.open()
    tree(root, files)
    watch.close()
    watch.close()
    assert told == ([watch.changes()] if watch.changes() else [])
    return [(one.setting, one.before, one.after) for one in watch.changes()]


def test_an_interrupt_that_may_reach_the_cpu_no_more(tmp_path: Path) -> None:
    machine(tmp_path)
    assert changed(tmp_path, {AFFINITY: "0-1"}) == [(f"/{AFFINITY}", "0-3", "0-1")]


def test_an_interrupt_that_goes_elsewhere_concerns_nobody(tmp_path: Path) -> None:
    machine(tmp_path)
    assert changed(tmp_path, {"proc/irq/37/smp_affinity_list": "1"}) == []


def test_a_partition_is_told_where_its_cpus_are_watched(tmp_path: Path) -> None:
    machine(tmp_path)
    assert changed(tmp_path, {PARTITION: "member"}) == [(f"/{PARTITION}", "isolated", "member")]
    assert changed(tmp_path, {PARTITION: "isolated"}, watched=0) == []


def test_a_group_that_takes_the_cpu(tmp_path: Path) -> None:
    machine(tmp_path)
    name = "sys/fs/cgroup/new/cpuset.cpus"
    assert changed(tmp_path, {name: "0,2"}) == [(f"/{name}", "", "0,2")]


def test_it_looks_by_itself(tmp_path: Path) -> None:
    machine(tmp_path)
    seen = threading.Event()
    watch = IsolationWatch(frozenset({2}), lambda _: seen.set(), tmp_path, interval_s=0.01)
    watch.open()
    tree(tmp_path, {AFFINITY: "2"})
    assert seen.wait(30)
    watch.close()
    # A file is empty while it is written: what follows that has to concern the CPU as well.
    assert watch.changes()[-1].after == "2"
