from __future__ import annotations

from pathlib import Path

import pytest

from noisetop.machine.stolen_time import (
    cpu_ticks,
    read_steal_ticks,
    run_delay_ns,
    steal_ticks,
    throttle_files,
    throttled_ns,
)

PID = 4711


def write(root: Path, path: str, text: str) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_steal_is_read_by_cpu_and_guest_time_is_none(tmp_path: Path) -> None:
    write(
        tmp_path,
        "proc/stat",
        "cpu  0 0 0 0 0 0 0 7 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\ncpu1 10 0 2 3 0 0 5 7 99 0\nintr 1\n",
    )
    assert read_steal_ticks(tmp_path) == {0: 0, 1: 7}


@pytest.mark.parametrize("row", ["1 2 3", "0 0 0 0 0 0 0 x 0 0", "0 0 0 0 0 0 0 -1", ""])
def test_a_row_without_steal_gives_none(row: str) -> None:
    assert steal_ticks(cpu_ticks(f"cpu3 {row}\n")) == {}


def test_columns_to_come_are_no_concern() -> None:
    assert cpu_ticks("cpu2 0 1 2 3 4 5 6 7 8 9 new\n") == {2: (0, 1, 2, 3, 4, 5, 6, 7, 8, 9)}


def test_waits_are_those_of_the_thread(tmp_path: Path) -> None:
    write(tmp_path, f"proc/{PID}/task/5/schedstat", "100 30 2\n")
    assert run_delay_ns(PID, 5, tmp_path) == 30
    assert run_delay_ns(PID, 6, tmp_path) is None


@pytest.mark.parametrize(
    ("limit", "found"),
    [
        ({"a/cpu.max": "20000 100000"}, ["a"]),
        ({"a/cpu.max": "max 100000"}, []),
        ({"a/b/cpu.max": "1 2", "a/cpu.max": "max 2", "cpu.max": "1 2"}, ["a/b", ""]),
    ],
)
def test_only_cgroups_with_a_limit_are_read(
    tmp_path: Path, limit: dict[str, str], found: list[str]
) -> None:
    write(tmp_path, f"proc/{PID}/cgroup", "0::/a/b\n")
    write(tmp_path, "proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n")
    for path, text in limit.items():
        write(tmp_path, f"sys/fs/cgroup/{path}", text)
    base = tmp_path / "sys/fs/cgroup"
    assert throttle_files(PID, tmp_path) == tuple(base / path / "cpu.stat" for path in found)


def test_both_versions_of_control_groups_tell_ns(tmp_path: Path) -> None:
    write(tmp_path, "v1", "nr_periods 4\nthrottled_time 5000\n")
    write(tmp_path, "v2", "usage_usec 9\nthrottled_usec 5\n")
    assert throttled_ns(tmp_path / "v1") == throttled_ns(tmp_path / "v2") == 5_000
    assert throttled_ns(tmp_path / "absent") == 0
