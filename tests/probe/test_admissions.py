"""What others admit to have taken, from files of a made-up machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from noisetop.probe.admissions import (
    NS_PER_TICK,
    STEAL,
    THROTTLED,
    Watcher,
    steal_ticks,
    throttle_files,
)

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
    folder = root / "sys/fs/cgroup/a"
    (folder / "b").mkdir(parents=True, exist_ok=True)
    (folder / "cpu.max").write_text(limit)
    (folder / "cpu.stat").write_text(f"usage_usec 5\nthrottled_usec {throttled_usec}\n")


def watcher(root: Path) -> Watcher:
    return Watcher(PID, (1,), (PID,), root)


def test_steal_is_read_by_cpu(tmp_path: Path) -> None:
    stat(tmp_path, 7)
    assert steal_ticks(tmp_path) == {0: 0, 1: 7}


@pytest.mark.parametrize(
    ("ticks", "away_ns", "admitted_ns"),
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
    tmp_path: Path, ticks: int, away_ns: int | None, admitted_ns: int
) -> None:
    one = watcher(tmp_path)
    for steal in (100, 100 + ticks):
        stat(tmp_path, steal)
        one.poll()
    found = one.admissions(1, away_ns)
    assert {admission.name for admission in found} <= {STEAL}
    assert sum(admission.admitted_ns for admission in found) == admitted_ns
    assert one.steal_ns(1) == ticks * NS_PER_TICK


def test_throttling_is_read_from_every_cgroup_with_a_limit(tmp_path: Path) -> None:
    stat(tmp_path, 0)
    one = watcher(tmp_path)
    for throttled in (1_000, 1_000, 81_000):
        cgroup(tmp_path, throttled)
        one.poll()
    found = [one for one in one.admissions(1, None) if one.name == THROTTLED]
    assert [admission.admitted_ns for admission in found] == [0, 80_000_000]
    assert all(admission.is_wait for admission in found)
    assert one.throttled_ns() == 80_000_000


def test_a_cgroup_without_a_limit_is_not_read(tmp_path: Path) -> None:
    cgroup(tmp_path, 5, limit="max 100000")
    assert throttle_files(PID, tmp_path) == ()


def test_nothing_is_admitted_where_nothing_is_counted(tmp_path: Path) -> None:
    one = watcher(tmp_path)
    one.poll()
    assert one.admissions(1, None) == []
    assert one.admissions(-1, None) == []
    assert one.throttled_ns() == one.steal_ns(1) == 0
