from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisetop.errors import UsageError
from noisetop.machine import system
from noisetop.text.cpu_list import MAX_CPUS, format_cpu_list, parse_cpu_list


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("0", (0,)), ("2-3,6", (2, 3, 6)), ("6,2-3,3", (2, 3, 6)), (" 1 , 2 \n", (1, 2))],
)
def test_cpu_lists(text: str, cpus: tuple[int, ...]) -> None:
    assert parse_cpu_list(text) == cpus


@pytest.mark.parametrize("text", ["", "a", "1-", "-1", "3-2", "1,,2", "1 2", "0x1", "9999999"])
def test_what_is_no_cpu_list(text: str) -> None:
    with pytest.raises(UsageError):
        parse_cpu_list(text)


@given(st.sets(st.integers(0, MAX_CPUS - 1), min_size=1))
def test_lists_come_back_as_they_were_written(cpus: set[int]) -> None:
    assert parse_cpu_list(format_cpu_list(cpus)) == tuple(sorted(cpus))


def test_isolation_by_boot_parameter_and_by_cpuset(tmp_path: Path) -> None:
    cpu = tmp_path / "sys/devices/system/cpu"
    cpu.mkdir(parents=True)
    (cpu / "isolated").write_text("2\n")
    (cpu / "nohz_full").write_text("(null)\n")
    groups = tmp_path / "sys/fs/cgroup/unified"
    groups.mkdir(parents=True)
    (groups / "cpuset.cpus.isolated").write_text("4-5\n")
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/mounts").write_text("cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n")
    assert system.isolated_cpus(tmp_path) == (2, 4, 5)
    assert system.nohz_full_cpus(tmp_path) == ()


def test_isolation_that_makes_no_sense_is_none(tmp_path: Path) -> None:
    cpu = tmp_path / "sys/devices/system/cpu"
    cpu.mkdir(parents=True)
    (cpu / "isolated").write_text("2-x\n")
    assert system.isolated_cpus(tmp_path) == ()


def test_a_list_from_the_user_names_cpus_that_are_online(tmp_path: Path) -> None:
    cpu = tmp_path / "sys/devices/system/cpu"
    cpu.mkdir(parents=True)
    (cpu / "online").write_text("0-2\n")
    assert system.cpus_from_list("2,0-1", tmp_path) == (0, 1, 2)
    with pytest.raises(UsageError, match="CPU 3 not online here: choose from 0-2"):
        system.cpus_from_list("2-3", tmp_path)
    with pytest.raises(UsageError, match="is not a CPU list"):
        system.cpus_from_list("two", tmp_path)


def test_a_tree_of_processes(tmp_path: Path) -> None:
    for pid, parent in ((1, 0), (10, 1), (11, 10), (12, 11), (20, 1)):
        folder = tmp_path / f"proc/{pid}"
        folder.mkdir(parents=True)
        (folder / "stat").write_text(f"{pid} (a) b) S {parent} 0 0")
    assert system.process_tree(10, tmp_path) == (10, 11, 12)
