"""Files that say what is kept away from CPUs, as they read now: they can change at any time."""

from __future__ import annotations

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

Settings = dict[str, str]
"""Text of each file by its absolute name."""


def isolation_settings(root: Path = ROOT) -> Settings:
    """Isolated and nohz_full CPUs, CPUs and partition of each control group (v2) that has a cpuset,
    and where each interrupt may go. Reads no file that interrupts a CPU."""
    files = [root / name for name in _OF_THE_MACHINE]
    files += (folder / name for folder in _cpusets(root) for name in (_CPUS, _PARTITION))
    files += (root / "proc/irq").glob("[0-9]*/smp_affinity_list")
    texts = ((f"/{path.relative_to(root)}", read_text(path)) for path in files)
    return {_text_of(name): text for name, text in texts if text}


def partner(name: str) -> str:
    """The file with the CPUs that a setting is about; itself, where that is a list of CPUs."""
    return name.removesuffix(_PARTITION) + _CPUS if name.endswith(_PARTITION) else name


def _text_of(name: str) -> str:
    return os.fsencode(name).decode(errors="replace")


def _cpusets(root: Path) -> Iterator[Path]:
    """The folders of control groups with a cpuset. A group has one only where its parent does."""
    mount = cgroup2_mount(read_text(root / "proc/mounts"))
    folders = [root / mount.lstrip("/")] if mount else []
    for found, folder in enumerate(folders):
        if found > _MOST_GROUPS:
            return
        below = sorted(path.parent for path in folder.glob(f"*/{_CPUS}"))
        folders += below
        yield from below
