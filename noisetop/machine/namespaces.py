"""The namespaces of this process, where the kernel's own numbers are others than ours."""

from __future__ import annotations

import os
from pathlib import Path

from noisetop.machine.system import ROOT, read_text

_FIRST = {"pid": 0xEFFFFFFC, "cgroup": 0xEFFFFFFB, "user": 0xEFFFFFFD}
"""Numbers of those that the kernel starts with: include/linux/proc_ns.h."""


def is_first(kind: str, root: Path = ROOT) -> bool:
    """Whether our namespace of a kind (``pid``, ``cgroup``, ``user``) is the one that the kernel
    started with; also where the kernel has none of them."""
    try:
        name = str((root / "proc/self/ns" / kind).readlink())
    except OSError:
        return True
    return name == f"{kind}:[{_FIRST[kind]}]"


def proc_is_ours(root: Path = ROOT) -> bool:
    """Whether the numbers in /proc are those of our PID namespace."""
    try:
        return str((root / "proc/self").readlink()) == str(os.getpid())
    except OSError:
        return False


def own_cgroup_depth(root: Path = ROOT) -> int:
    """Levels of our control group (v2) below the root of our namespace; negative: above it."""
    for line in read_text(root / "proc/self/cgroup").splitlines():
        if line.startswith("0::"):
            return _depth(line.removeprefix("0::"))
    return 0


def cgroup2_mount_depth(root: Path = ROOT) -> int:
    """Levels of what is mounted as cgroup v2 below the root of our namespace, likewise."""
    for line in read_text(root / "proc/self/mountinfo").splitlines():
        about, _, source = line.partition(" - ")
        if source.startswith("cgroup2 "):
            return _depth(about.split()[3])
    return 0


def _depth(path: str) -> int:
    steps = [step for step in path.split("/") if step]
    return sum(-1 if step == ".." else 1 for step in steps)
