"""Accounted time, from files of a made-up machine."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from noisetop.gaps.accounted_time import allot
from noisetop.gaps.gaps import Gaps
from noisetop.machine.stolen_time import NS_PER_TICK
from noisetop.probe.accounted_time import STEAL, THROTTLED, Watcher

PID = 4711


def stat(root: Path, steal: int) -> None:
    (root / "proc").mkdir(parents=True, exist_ok=True)
    (root / "proc/stat").write_text(
        f"cpu  0 0 0 0 0 0 0 {steal} 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\n"
        f"cpu1 10 0 20 30 0 0 5 {steal} 0 0\nintr 1 2 3\n"
    )


def cgroup(root: Path, throttled_usec: int, limit: str = "20000 100000") -> None:
    (root / f"proc/{PID}").mkdir(parents=True, exist_ok=True)
    (root / f"proc/{PID}/cgroup").write_text("0::/a/b\n")
    (root / "proc/mounts").write_text("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n")
    folder = root / "sys/fs/cgroup/a"
    (folder / "b").mkdir(parents=True, exist_ok=True)
    (folder / "cpu.max").write_text(limit)
    (folder / "cpu.stat").write_text(f"usage_usec 5\nthrottled_usec {throttled_usec}\n")


def watcher(root: Path) -> Watcher:
    return Watcher(PID, (1,), (PID,), root)


@pytest.mark.parametrize(
    ("ticks", "away_ns", "accounted_ns"),
    [
        (0, 300_000, 300_000),  # less than a tick: the scheduler's account alone
        (3, 3 * NS_PER_TICK + 5_000_000, 3 * NS_PER_TICK + 5_000_000),
        (3, 10 * NS_PER_TICK, 3 * NS_PER_TICK),  # it holds more than steal
        (3, None, 2 * NS_PER_TICK),  # ticks alone: at least that much
        (0, None, 0),
        (2, -5_000, 0),
    ],
)
def test_steal_needs_both_accounts(
    tmp_path: Path, ticks: int, away_ns: int | None, accounted_ns: int
) -> None:
    one = watcher(tmp_path)
    for steal in (100, 100 + ticks):
        stat(tmp_path, steal)
        one.poll()
    found = one.accounted(1, away_ns)
    assert {one.name for one in found} <= {STEAL}
    assert sum(one.accounted_ns for one in found) == accounted_ns
    assert one.steal_ns(1) == ticks * NS_PER_TICK


def test_throttling_is_read_from_every_cgroup_with_a_limit(tmp_path: Path) -> None:
    stat(tmp_path, 0)
    one = watcher(tmp_path)
    for throttled in (1_000, 1_000, 81_000):
        cgroup(tmp_path, throttled)
        one.poll()
    found = [taken for taken in one.accounted(1, None) if taken.name == THROTTLED]
    assert [one.accounted_ns for one in found] == [0, 80_000_000, 0]
    assert all(one.is_wait for one in found)
    assert one.throttled_ns() == 80_000_000


def test_a_gap_that_ends_after_the_last_look_at_the_cgroup_was_throttled(tmp_path: Path) -> None:
    """As of a process that waits for others once it may run again, and then ends."""
    stat(tmp_path, 0)
    one = watcher(tmp_path)
    for throttled in (1_000, 81_000):
        cgroup(tmp_path, throttled)
        one.poll()
    (tmp_path / f"proc/{PID}/cgroup").write_text("0::/\n")
    end_ns = time.monotonic_ns()
    one.poll()
    gaps = Gaps(np.array([end_ns - 90_000_000]), np.array([end_ns]), 0)
    taken = allot(gaps, np.array([70_000_000]), one.accounted(1, None))
    assert taken[THROTTLED].tolist() == [70_000_000]


def test_nothing_is_accounted_where_nothing_is_counted(tmp_path: Path) -> None:
    one = watcher(tmp_path)
    one.poll()
    assert one.accounted(1, None) == []
    assert one.accounted(-1, None) == []
    assert one.throttled_ns() == one.steal_ns(1) == 0
