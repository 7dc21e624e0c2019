from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from noisetop.errors import NoisetopError
from noisetop.tracing import bcc
from noisetop.tracing.backend import choose

RELEASE = os.uname().release


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of apt's, which has BCC but has not been told of headers elsewhere."""
    monkeypatch.delenv("BCC_KERNEL_SOURCE", raising=False)
    monkeypatch.setattr(bcc, "find_interpreter", lambda: "/usr/bin/python3")
    have_manager(monkeypatch, "apt-get")


def have_manager(monkeypatch: pytest.MonkeyPatch, manager: str) -> None:
    monkeypatch.setattr(
        "noisetop.tracing.backend.shutil.which", lambda name: name if name == manager else None
    )


def without_bcc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bcc, "find_interpreter", lambda: "")


def machine(root: Path, *, btf: bool = False, headers: bool = False) -> Path:
    if btf:
        (root / "sys/kernel/btf").mkdir(parents=True)
        (root / "sys/kernel/btf/vmlinux").touch()
    if headers:
        (root / "lib/modules" / RELEASE / "build/include").mkdir(parents=True)
    return root


@pytest.mark.parametrize(
    ("wanted", "btf", "headers", "chosen"),
    [
        ("auto", True, False, "libbpf"),
        ("auto", True, True, "libbpf"),
        ("auto", False, True, "bcc"),
        ("libbpf", True, True, "libbpf"),
        ("bcc", True, True, "bcc"),
    ],
)
def test_btf_is_preferred_and_the_user_decides(
    tmp_path: Path, wanted: str, btf: bool, headers: bool, chosen: str
) -> None:
    assert choose(wanted, machine(tmp_path, btf=btf, headers=headers)) == chosen


def refusal(wanted: str, root: Path) -> str:
    with pytest.raises(NoisetopError) as told:
        choose(wanted, root)
    assert "\n" not in str(told.value)
    return str(told.value)


def test_what_to_install_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert refusal("auto", tmp_path) == (
        "this kernel has no BTF, and BCC needs the kernel's headers: "
        f"apt install linux-headers-{RELEASE}"
    )
    without_bcc(monkeypatch)
    assert refusal("auto", tmp_path) == (
        "this kernel has no BTF, and BCC needs its Python module and the kernel's headers: "
        f"apt install python3-bpfcc linux-headers-{RELEASE}"
    )
    assert refusal("bcc", machine(tmp_path, btf=True, headers=True)) == (
        "--backend bcc needs its Python module: apt install python3-bpfcc"
    )


@pytest.mark.parametrize(
    ("manager", "command"),
    [
        ("dnf", rf"dnf install python3-bcc kernel-devel-{re.escape(RELEASE)}$"),
        ("pacman", r"pacman -S python-bcc linux-headers$"),
        ("none that we know", r"apt install python3-bpfcc linux-headers-"),
    ],
)
def test_the_packages_are_called_as_the_distribution_calls_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, manager: str, command: str
) -> None:
    without_bcc(monkeypatch)
    have_manager(monkeypatch, manager)
    assert re.search(command, refusal("auto", tmp_path))


def test_libbpf_without_btf_points_to_bcc(tmp_path: Path) -> None:
    assert "--backend bcc" in refusal("libbpf", machine(tmp_path, headers=True))


def test_headers_can_be_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "src/include").mkdir(parents=True)
    monkeypatch.setenv("BCC_KERNEL_SOURCE", str(tmp_path / "src"))
    assert choose("auto", tmp_path / "root") == "bcc"


def test_headers_can_be_in_the_kernel(tmp_path: Path) -> None:
    (tmp_path / "sys/kernel").mkdir(parents=True)
    (tmp_path / "sys/kernel/kheaders.tar.xz").touch()
    assert choose("auto", tmp_path) == "bcc"


def test_a_dangling_link_is_no_headers(tmp_path: Path) -> None:
    (tmp_path / "lib/modules" / RELEASE).mkdir(parents=True)
    (tmp_path / "lib/modules" / RELEASE / "build").symlink_to(tmp_path / "gone")
    assert "needs the kernel's headers" in refusal("auto", tmp_path)
