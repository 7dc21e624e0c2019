from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from noisetop import _native
from noisetop.errors import NoisetopError
from noisetop.tracing.host_numbers import HostNumbers


@pytest.fixture
def container(tmp_path: Path) -> Path:
    """/proc in other namespaces, in the group /pod of two levels that are not seen."""
    ns = tmp_path / "proc/self_ns/ns"
    ns.mkdir(parents=True)
    (tmp_path / f"proc/{os.getpid()}").symlink_to("self_ns")
    (tmp_path / "proc/self").symlink_to(str(os.getpid()))
    (ns / "pid").symlink_to("pid:[4026532211]")
    (ns / "cgroup").symlink_to("cgroup:[4026532212]")
    (ns.parent / "cgroup").write_text("0::/pod\n")
    (ns.parent / "mountinfo").write_text("31 28 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
    return tmp_path


def test_on_the_host_nothing_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delattr(_native, "host_tasks")
    assert HostNumbers(root=tmp_path).task(5) == 5
    assert HostNumbers(root=tmp_path).cgroup_level(3) == 3


def test_in_a_container(monkeypatch: pytest.MonkeyPatch, container: Path) -> None:
    monkeypatch.setattr(_native, "host_tasks", lambda: [(os.getpid(), 901, 3), (7, 907, 3)])
    numbers = HostNumbers(root=container)
    assert numbers.task(7) == 907
    assert numbers.cgroup_level(2) == 4
    with pytest.raises(NoisetopError, match="there is no task 8 any more"):
        numbers.task(8)


def test_what_cannot_be_told_is_refused(monkeypatch: pytest.MonkeyPatch, container: Path) -> None:
    def refused() -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(_native, "host_tasks", refused)
    with pytest.raises(NoisetopError, match=r"not permitted\): run noisetop on the host"):
        HostNumbers(root=container).task(7)
    with pytest.raises(NoisetopError, match="needs a kernel with BTF: run noisetop on"):
        HostNumbers(has_btf=False, root=container).cgroup_level(0)


def test_proc_of_another_namespace(container: Path) -> None:
    (container / "proc/self").unlink()
    (container / "proc/1").symlink_to("self_ns")
    (container / "proc/self").symlink_to("1")
    with pytest.raises(NoisetopError, match="/proc is that of another PID namespace"):
        HostNumbers(root=container).task(7)
