"""Keeps every thread of the tool off the CPUs that it watches."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from noisetop.machine.system import ROOT, online_cpus

_TASKS = Path("/proc/self/task")


def allowed_cpus_of(pid: int, root: Path = ROOT) -> set[int]:
    """CPUs that any thread of a process may run on; empty when it is gone."""
    allowed: set[int] = set()
    for task in (root / f"proc/{pid}/task").glob("[0-9]*"):
        try:
            allowed |= os.sched_getaffinity(int(task.name))
        except ProcessLookupError:
            continue
    return allowed


def allowed_cpus_of_thread(tid: int) -> set[int]:
    """CPUs that one thread may run on; empty when it is gone, or nobody may ask."""
    try:
        return os.sched_getaffinity(tid)
    except OSError:
        return set()


def choose(busy: Iterable[int], root: Path = ROOT) -> tuple[int, ...]:
    """Online CPUs that are not busy and that this process may use, in order; perhaps none."""
    allowed = os.sched_getaffinity(0)
    return tuple(cpu for cpu in online_cpus(root) if cpu in allowed and cpu not in set(busy))


def bind(cpus: Iterable[int]) -> None:
    """Binds all threads of this process, also those that they start later."""
    wanted = set(cpus)
    for task in _TASKS.iterdir():
        try:
            os.sched_setaffinity(int(task.name), wanted)
        except ProcessLookupError:
            continue
