from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from noisetop.machine.files import Files
from noisetop.machine.task_details import (
    LONGEST_COMMAND,
    ProcessDetails,
    cgroup_of,
    read_process,
)

ID = "0123456789abcdef" * 4


def _process(root: Path, pid: int, *, stat: str, command: bytes, cgroup: str) -> None:
    folder = root / f"proc/{pid}"
    folder.mkdir(parents=True)
    (folder / "stat").write_text(stat)
    (folder / "cmdline").write_bytes(command)
    (folder / "cgroup").write_text(cgroup)


def test_a_process(tmp_path: Path) -> None:
    _process(
        tmp_path,
        42,
        stat="42 (a) b (c) S 7 42 42 0 -1\n",
        command=b"/bin/redis\0--port\x006379\0",
        cgroup="0::/system.slice/redis.service\n",
    )
    assert read_process(42, Files(tmp_path)) == ProcessDetails(
        "a) b (c", "/bin/redis --port 6379", 7, "/system.slice/redis.service"
    )


def test_a_command_line_is_read_up_to_a_bound(tmp_path: Path) -> None:
    _process(tmp_path, 1, stat="1 (x) R 0", command=b"\xff" + b"y" * (1 << 20), cgroup="")
    found = read_process(1, Files(tmp_path))
    assert found is not None
    assert len(found.command) == LONGEST_COMMAND
    assert found.command[0] == "\ufffd"


@pytest.mark.parametrize("stat", ["", "nonsense", "1 (x)", "1 (x) R", "1 (x) R none"])
def test_what_is_gone_or_makes_no_sense(tmp_path: Path, stat: str) -> None:
    _process(tmp_path, 1, stat=stat, command=b"", cgroup="")
    assert read_process(1, Files(tmp_path)) is None
    assert read_process(2, Files(tmp_path)) is None


def test_each_reading_is_a_new_one(tmp_path: Path) -> None:
    _process(tmp_path, 1, stat="1 (before) R 0", command=b"", cgroup="")
    files = Files(tmp_path)
    read_process(1, files)
    (tmp_path / "proc/1/stat").write_text("1 (after) R 0")
    found = read_process(1, files)
    assert found is not None
    assert found.name == "after"


def test_ourselves() -> None:
    found = read_process(os.getpid(), Files())
    assert found is not None
    assert found.parent == os.getppid()
    assert sys.argv[-1] in found.command


@pytest.mark.parametrize(
    ("memberships", "path"),
    [
        ("0::/a.slice/b.service\n", "/a.slice/b.service"),
        ("2:cpu:/\n1:name=systemd:/b.service\n0::/\n", "/b.service"),
        ("2:cpu:/mine\n0::/\n", "/"),
        (f"2:cpu:/docker/{ID}\n1:name=systemd:/\n", f"/docker/{ID}"),
        ("0::/with:colons\n", "/with:colons"),
        ("0::/gone.service (deleted)\n", "/gone.service"),
        ("nonsense\n", "/"),
        ("", "/"),
    ],
)
def test_the_group_that_says_most(memberships: str, path: str) -> None:
    assert cgroup_of(memberships) == path
