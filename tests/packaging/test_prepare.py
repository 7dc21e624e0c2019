"""packaging/prepare on made-up machines: what it installs, and what it says."""

from __future__ import annotations

import os
import shutil

import pytest

from tests.packaging.made_up_machine import NOBODY, PYTHON, Machine

pytestmark = pytest.mark.packaging


def offer(machine: Machine, *absent: str) -> None:
    """Makes it a machine with apt-get, whose distribution has every package but those."""
    machine.add_logged("apt-get")
    pattern = "|".join(absent) or "-"
    machine.add(
        "apt-cache",
        f'case "$2" in {pattern}) echo "  Candidate: (none)";; *) echo "  Candidate: 1";; esac',
    )


def furnish(machine: Machine) -> None:
    """Puts everything there that building needs."""
    for tool in ("cc", "clang", "cmake", "ninja", "pkg-config", "bpftool"):
        machine.add(tool)
    machine.mark("headers", "venv")


APT_BUILD = (
    "bpftool clang cmake gcc libbpf-dev libc6-dev ninja-build pkg-config python3-dev python3-venv"
)


def test_apt_installs_what_building_lacks(machine: Machine) -> None:
    offer(machine)
    result = machine.prepare("build")
    install = f"apt-get install -y --no-install-recommends {APT_BUILD}"
    assert machine.log() == ["apt-get update -qq", install]
    assert f"noisetop: env DEBIAN_FRONTEND=noninteractive {install}\n" in result.stderr
    assert result.stdout == ""


def test_installs_only_what_is_missing(machine: Machine) -> None:
    offer(machine)
    furnish(machine)
    (machine.root / "bin/clang").unlink()
    result = machine.prepare("build")
    assert machine.log()[-1] == "apt-get install -y --no-install-recommends clang"
    assert "to build this machine lacks: clang 14 or newer\n" in result.stderr


def test_says_and_does_nothing_when_nothing_is_missing(machine: Machine) -> None:
    offer(machine)
    furnish(machine)
    result = machine.prepare("build")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert machine.log() == []


def test_goes_on_when_the_packages_brought_what_was_missing(machine: Machine) -> None:
    furnish(machine)
    (machine.root / "bin/clang").unlink()
    (machine.root / "bin/chmod").symlink_to(shutil.which("chmod") or "")
    machine.add_logged(
        "dnf", "echo '#!/bin/sh' >{root}/bin/clang; chmod +x {root}/bin/clang; echo done"
    )
    result = machine.prepare("build")
    assert result.returncode == 0
    assert result.stdout == ""


def test_fails_when_the_packages_did_not_help(machine: Machine) -> None:
    offer(machine)
    furnish(machine)
    machine.add("pkg-config", "exit 1")
    result = machine.prepare("build")
    assert result.returncode == 1
    last = result.stderr.splitlines()[-1]
    assert last == (
        "noisetop: still missing or too old after that: libbpf 1.0 or newer with its headers"
    )


def test_passes_on_that_the_installation_failed(machine: Machine) -> None:
    machine.add_logged("dnf", "exit 3")
    assert machine.prepare("build").returncode == 3


def test_ubuntu_has_bpftool_in_linux_tools(machine: Machine) -> None:
    offer(machine, "bpftool")
    furnish(machine)
    machine.add("bpftool", "exit 2")
    machine.prepare("build")
    assert machine.log()[-1] == "apt-get install -y --no-install-recommends linux-tools-generic"


@pytest.mark.parametrize("folder", ["linux-tools/6.8.0-50-generic", "linux-tools-6.8.0-50"])
def test_bpftool_of_another_kernel_will_do(machine: Machine, folder: str) -> None:
    furnish(machine)
    machine.add("bpftool", "exit 2")
    machine.add("bpftool", folder=f"usr/lib/{folder}")
    assert machine.prepare("build").returncode == 0


def test_dnf(machine: Machine) -> None:
    machine.add_logged("dnf")
    machine.prepare("build")
    assert machine.log() == [
        "dnf install -y --setopt=install_weak_deps=False bpftool clang cmake gcc glibc-devel"
        " libbpf-devel ninja-build pkgconf-pkg-config python3 python3-devel"
    ]


@pytest.mark.parametrize(("lists", "sync"), [(True, "-S"), (False, "-Syu")])
def test_pacman(machine: Machine, lists: bool, sync: str) -> None:
    machine.add_logged("pacman")
    if lists:
        (machine.root / "var/lib/pacman/sync").mkdir(parents=True)
        machine.mark("var/lib/pacman/sync/core.db")
    machine.prepare("build")
    assert machine.log() == [
        f"pacman {sync} --needed --noconfirm bpf clang cmake gcc libbpf ninja pkgconf python"
    ]


@pytest.mark.parametrize(
    ("manager", "group", "packages"),
    [
        ("apt-get", "check", "clang-format"),
        ("dnf", "check", "clang-tools-extra"),
        ("pacman", "check", "clang"),
        ("apt-get", "test", "elfutils iproute2 redis-tools stress-ng tmux"),
        ("dnf", "test", "elfutils iproute redis stress-ng tmux"),
        ("pacman", "test", "elfutils iproute2 redis stress-ng tmux"),
        ("apt-get", "viewers", "chromium"),
        ("apt-get", "packaging", "debootstrap default-jre-headless golang-go prometheus systemd"),
        ("apt-get", "guests", "kmod python3-bpfcc qemu-system-x86 stress-ng"),
        ("dnf", "guests", "kmod python3-bcc qemu-system-x86-core stress-ng"),
        ("pacman", "guests", "kmod python-bcc qemu-system-x86 stress-ng"),
        ("apt-get", "configs", "bc bison dwarves flex"),
        ("pacman", "configs", "bc bison flex pahole"),
    ],
)
def test_packages_of_the_other_groups(
    machine: Machine, manager: str, group: str, packages: str
) -> None:
    offer(machine)
    if manager != "apt-get":
        (machine.root / "bin/apt-get").unlink()
        machine.add_logged(manager)
    machine.prepare(group)
    assert machine.log()[-1].endswith(f" {packages}")


def test_what_only_tests_need_may_be_missing(machine: Machine) -> None:
    offer(machine, "chromium")
    result = machine.prepare("viewers")
    assert result.returncode == 0
    assert machine.log() == ["apt-get update -qq"]
    assert "noisetop: chromium is no package of this distribution\n" in result.stderr
    assert result.stderr.endswith("not there: chromium: the tests that need them are skipped\n")


def test_user_installs_through_sudo(machine: Machine) -> None:
    machine.add("id", "echo 1000")
    machine.add_logged("sudo", 'exec "$@"')
    machine.add_logged("dnf")
    result = machine.prepare("check")
    command = "dnf install -y --setopt=install_weak_deps=False clang-tools-extra"
    assert machine.log() == [f"sudo {command}", command]
    assert f"noisetop: sudo {command}\n" in result.stderr


def test_user_without_sudo_is_told_what_root_has_to_type(machine: Machine) -> None:
    machine.add("id", "echo 1000")
    offer(machine)
    result = machine.prepare("check")
    assert result.returncode == 1
    assert machine.log() == []
    assert result.stderr.splitlines()[-1].endswith(": as root, run apt-get install clang-format")


def test_unknown_distribution_gets_the_list(machine: Machine) -> None:
    furnish(machine)
    (machine.root / "bin/clang").unlink()
    (machine.root / "bin/bpftool").unlink()
    result = machine.prepare("build")
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1] == (
        "noisetop: no apt-get, dnf or pacman on this machine: install these, then run make again:"
        " clang 14 or newer, bpftool"
    )


def test_no_recent_python(machine: Machine) -> None:
    (machine.root / "recent").unlink()
    machine.add("python3", '[ "$1" = --version ] && echo Python 3.9.2')
    result = machine.prepare("build")
    assert result.returncode == 1
    assert result.stderr == (
        "noisetop: noisetop needs Python 3.11 or newer, and here is Python 3.9.2: install one,"
        " or make PYTHON=/path/to/python3\n"
    )


def test_takes_a_newer_python_by_its_own_name(machine: Machine) -> None:
    machine.add("python3", "exit 1")
    machine.add("python3.12", PYTHON)
    offer(machine)
    assert machine.prepare("python").stdout == "python3.12\n"
    machine.prepare("build")
    assert machine.log()[-1].endswith(" python3.12-dev python3.12-venv")


def test_python_of_the_distribution_goes_first(machine: Machine) -> None:
    machine.add("python3", PYTHON, folder="usr/bin")
    assert machine.prepare("python").stdout == f"{machine.root}/usr/bin/python3\n"
    machine.add("python3", "exit 1", folder="usr/bin")
    assert machine.prepare("python").stdout == "python3\n"


def test_python_of_the_users_choice(machine: Machine) -> None:
    machine.add("python3", PYTHON, folder="opt")
    chosen = str(machine.root / "opt/python3")
    assert machine.prepare("python", PYTHON=chosen).stdout == f"{chosen}\n"
    (machine.root / "recent").unlink()
    result = machine.prepare("python", PYTHON=chosen)
    assert result.returncode == 1
    assert result.stderr.startswith(f"noisetop: {chosen} is not Python 3.11 or newer")


def test_environment_of_someone_else(machine: Machine) -> None:
    furnish(machine)
    (machine.root / ".venv").mkdir(mode=0o555)
    result = machine.prepare("build", user=NOBODY if os.geteuid() == 0 else None)
    assert result.returncode == 1
    assert result.stderr.startswith("noisetop: .venv belongs to ")
    assert result.stderr.endswith(": sudo make clean, then run make again without sudo\n")
