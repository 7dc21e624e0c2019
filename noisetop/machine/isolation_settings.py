"""Files that say what is kept away from CPUs, as they read now: they can change at any time."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from pathlib import Path

from noisetop.machine.cgroups import cgroup2_mount
from noisetop.machine.system import ROOT, read_text

_CPUS = "cpuset.cpus"
_PARTITION = "cpuset.cpus.partition"
_OF_THE_MACHINE = ("sys/devices/system/cpu/isolated", "sys/devices/system/cpu/nohz_full")
_MOST_GROUPS = 256
"""Control groups with CPUs of their own that are read: a bound for what that costs."""

AT_ONCE = 64
"""Interrupts that are read again in one go: a server has a thousand, and each takes 10 µs."""
_MOST_BYTES = 1 << 16

Settings = dict[str, str]
"""Text of each file by its absolute name."""


def isolation_settings(root: Path = ROOT, known: Settings | None = None, turn: int = 0) -> Settings:
    """Isolated and nohz_full CPUs, CPUs and partition of each control group (v2) that has a cpuset,
    and where each interrupt may go. Reads no file that interrupts a CPU.

    ``known``: what an earlier call gave. Of many interrupts it is taken from there, but for those
    whose turn it is.
    """
    interrupts = _of_interrupts(root)
    turns = max(1, -(-len(interrupts) // AT_ONCE))
    others = (f"/{one}" for i, one in enumerate(interrupts) if (i - turn) % turns)
    kept = {name: known[name] for name in others if name in known} if known else {}
    names = [*_OF_THE_MACHINE, *(one for one in interrupts if f"/{one}" not in kept)]
    names += [f"{group}/{file}" for group in _cpusets(root) for file in (_CPUS, _PARTITION)]
    texts = ((f"/{name}", _text(f"{root}/{name}")) for name in names)
    return kept | {_text_of(name): text for name, text in texts if text}


def _text(path: str) -> str:
    """Of a file in one reading, without Path, as many are read each second; empty where it cannot
    be read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(fd, _MOST_BYTES).decode(errors="replace").strip()
    except OSError:
        return ""
    finally:
        os.close(fd)


def _folders(path: str) -> list[str]:
    """Names of the folders in one, in order; none where it cannot be read."""
    try:
        with os.scandir(path) as entries:
            return sorted(one.name for one in entries if one.is_dir(follow_symlinks=False))
    except OSError:
        return []


def _of_interrupts(root: Path) -> list[str]:
    names = filter(str.isdigit, _folders(f"{root}/proc/irq"))
    return [f"proc/irq/{name}/smp_affinity_list" for name in names]


def partner(name: str) -> str:
    """The file with the CPUs that a setting is about; itself, where that is a list of CPUs."""
    return name.removesuffix(_PARTITION) + _CPUS if name.endswith(_PARTITION) else name


def _text_of(name: str) -> str:
    return os.fsencode(name).decode(errors="replace")


@functools.cache
def _mount(root: Path) -> str:
    """Where control groups (v2) are, below the root; empty: nowhere. It stays, and to look for it
    takes a third of what everything else does."""
    return cgroup2_mount(read_text(root / "proc/mounts")).lstrip("/")


def _cpusets(root: Path) -> Iterator[str]:
    """The control groups with a cpuset, below the root. A group has one only where its parent
    does."""
    mount = _mount(root)
    groups = [mount] if mount else []
    for found, group in enumerate(groups):
        if found > _MOST_GROUPS:
            return
        below = [f"{group}/{name}" for name in _folders(f"{root}/{group}")]
        below = [one for one in below if os.access(f"{root}/{one}/{_CPUS}", os.F_OK)]
        groups += below
        yield from below
