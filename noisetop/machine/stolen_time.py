"""Time that the hypervisor, the scheduler and quotas took, as the kernel accounts it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from noisetop.machine.cgroups import cgroup_directories
from noisetop.machine.system import ROOT, read_text

NS_PER_TICK = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
"""Unit of the times of /proc/stat, USER_HZ."""
_STEAL = 7
"""Column of /proc/stat behind user, nice, system, idle, iowait, irq, softirq (proc_stat(5)). The
guest time of the columns behind it is part of user and nice, and no steal."""
_COLUMNS = 10


def cpu_ticks(text: str) -> dict[int, tuple[int, ...]]:
    """The columns of /proc/stat by CPU in ticks: user, nice, system, idle, iowait, irq, softirq,
    steal, guest, guest_nice. A CPU is left out where they make no sense."""
    rows = {}
    for cpu, values in re.findall(r"(?m)^cpu([0-9]{1,5}) (.*)$", text):
        columns = values.split()[:_COLUMNS]
        if all(re.fullmatch("[0-9]{1,20}", column) for column in columns):
            rows[int(cpu)] = tuple(map(int, columns))
    return rows


def steal_ticks(rows: Mapping[int, Sequence[int]]) -> dict[int, int]:
    """Steal by CPU, as the hypervisor reports it, from the columns of ``cpu_ticks``.

    CPUs whose row is too short are left out.
    """
    return {cpu: row[_STEAL] for cpu, row in rows.items() if len(row) > _STEAL}


def read_steal_ticks(root: Path = ROOT) -> dict[int, int]:
    """Steal by CPU since boot."""
    return steal_ticks(cpu_ticks(read_text(root / "proc/stat")))


def run_delay_ns(pid: int, tid: int, root: Path = ROOT) -> int | None:
    """How long a thread waited for a CPU so far; None where the kernel does not count it."""
    fields = read_text(root / f"proc/{pid}/task/{tid}/schedstat").split()
    return int(fields[1]) if len(fields) > 1 else None


def throttle_files(pid: int, root: Path = ROOT) -> tuple[Path, ...]:
    """cpu.stat of each cgroup around a process that limits its CPU time."""
    memberships = read_text(root / f"proc/{pid}/cgroup")
    found = cgroup_directories(memberships, read_text(root / "proc/mounts"), "cpu")
    folders = [root / directory.lstrip("/") for directory in found]
    return tuple(folder / "cpu.stat" for folder in folders if _has_quota(folder))


def _has_quota(folder: Path) -> bool:
    limit = read_text(folder / "cpu.max").split() or read_text(folder / "cpu.cfs_quota_us").split()
    return bool(limit) and limit[0] not in ("max", "-1")


def throttled_ns(file: Path) -> int:
    """Time that a cgroup kept its tasks from running so far, summed over CPUs."""
    for line in read_text(file).splitlines():
        name, _, value = line.partition(" ")
        if name == "throttled_time":  # cgroup v1, ns
            return int(value)
        if name == "throttled_usec":  # cgroup v2
            return int(value) * 1_000
    return 0
