from __future__ import annotations

import os
from pathlib import Path

import pytest

from noisetop.machine.namespaces import (
    cgroup2_mount_depth,
    is_first,
    own_cgroup_depth,
    proc_is_ours,
)


def link(path: Path, target: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


@pytest.mark.parametrize(
    ("kind", "number"), [("pid", 4026531836), ("cgroup", 4026531835), ("user", 4026531837)]
)
def test_the_first_namespace_of_each_kind(tmp_path: Path, kind: str, number: int) -> None:
    link(tmp_path / "first/proc/self/ns" / kind, f"{kind}:[{number}]")
    link(tmp_path / "other/proc/self/ns" / kind, f"{kind}:[4026532211]")
    assert is_first(kind, tmp_path / "first")
    assert not is_first(kind, tmp_path / "other")
    assert is_first(kind, tmp_path / "a kernel without")


def test_whose_numbers_proc_has(tmp_path: Path) -> None:
    link(tmp_path / "ours/proc/self", str(os.getpid()))
    link(tmp_path / "other/proc/self", str(os.getpid() + 1))
    assert proc_is_ours(tmp_path / "ours")
    assert not proc_is_ours(tmp_path / "other")
    assert not proc_is_ours(tmp_path / "none")


@pytest.mark.parametrize(
    ("path", "depth"), [("/", 0), ("/a.slice/b.scope", 2), ("/..", -1), ("/../../x", -1)]
)
def test_depths_of_control_groups(tmp_path: Path, path: str, depth: int) -> None:
    folder = tmp_path / "proc/self"
    folder.mkdir(parents=True)
    (folder / "cgroup").write_text(f"4:memory:/process_api/x\n0::{path}\n")
    (folder / "mountinfo").write_text(
        "30 28 0:27 / /sys/fs/cgroup/cpu rw,relatime shared:8 - cgroup cgroup rw,cpu\n"
        f"31 28 0:28 {path} /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw\n"
    )
    assert own_cgroup_depth(tmp_path) == depth
    assert cgroup2_mount_depth(tmp_path) == depth
    assert own_cgroup_depth(tmp_path / "none") == cgroup2_mount_depth(tmp_path / "none") == 0
