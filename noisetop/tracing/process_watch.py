"""Who the processes behind the noise are, read from /proc while they live.

The kernel side names each task that acts or loses time. Command line and control group are looked
up here, soon after that, and are kept when the task is gone.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from noisetop.events.interruption import task_name
from noisetop.events.task_directory import BOUND, GONE, MOST_PROCESSES, Details
from noisetop.machine.affinity import allowed_cpus_of_thread
from noisetop.machine.cgroups import number_of, paths_by_id
from noisetop.machine.container_names import named
from noisetop.machine.files import Files
from noisetop.machine.system import ROOT, cgroup2_root
from noisetop.machine.task_details import read_process
from noisetop.machine.tasks import only_cpu_of
from noisetop.tracing.capabilities import NAMES, raised

_AT_ONCE = 256
"""Processes that are read in one go: a bound for the CPU time that a storm of new ones takes."""
_THREADS, _THREADS_S = 32, 1.0
"""Threads whose CPU is read again, and how often: for most of them it stays."""
_PF_KTHREAD = 0x00200000
_COLUMNS = ("tid", "tgid", "parent_tgid", "comm", "cgroup")


@dataclass(slots=True)
class ProcessWatch:
    """Reads each process when it is first named, and again when it goes by another name."""

    root: Path = ROOT
    details: Details = field(default_factory=Details)
    """All that is known by now."""
    _files: Files = field(init=False)
    _mount: Path | None = field(init=False)
    """Where control groups (v2) are."""
    _pending: dict[int, None] = field(default_factory=dict)
    """PIDs to read."""
    _groups: set[int] = field(default_factory=set)
    """Ids of control groups to look up."""
    _looked_up: set[int] = field(default_factory=set)
    _named: dict[int, None] = field(default_factory=dict)
    """PIDs that are known, those named longest ago first."""
    _fresh: set[str] = field(default_factory=set)
    """Control groups of which something is new."""
    _gone: list[int] = field(default_factory=list)
    _threads: dict[int, set[int]] = field(default_factory=dict)
    """Those named last, with the CPUs that they may run on: they may be bound at any time."""
    _just_named: set[int] = field(default_factory=set)
    """Of these, those named since the last call."""
    _again_s: float = 0.0
    """When that of all of them is looked up next, by time.monotonic()."""

    def __post_init__(self) -> None:
        self._files = Files(self.root)
        self._mount = cgroup2_root(self.root)

    def note(self, names: npt.NDArray[np.void]) -> None:
        """Takes records of ``struct noise_task_name``."""
        if not self._files.kernel_threads_visible:
            return  # in a PID namespace the kernel's numbers are not those of /proc
        programs = names[names["task_flags"] & _PF_KTHREAD == 0]
        known = self.details.processes
        rows = zip(*(programs[name].tolist() for name in _COLUMNS), strict=True)
        for tid, tgid, parent, comm, cgroup in rows:
            self._threads[tid] = self._threads.pop(tid, set())
            self._just_named.add(tid)
            process = known.get(tgid)
            if self._named.pop(tgid, True) is None:
                self._named[tgid] = None
            if process is None or (tid == tgid and process.name != task_name(comm)):
                self._pending[tgid] = None
            if parent not in known:
                self._pending[parent] = None
            if cgroup not in self._looked_up:
                self._groups.add(cgroup)
        while len(self._threads) > _AT_ONCE:
            del self._threads[next(iter(self._threads))]

    def news(self) -> dict[str, Any]:
        """Reads what was named since the last call, and returns it as Details.add() takes it; empty
        where there is nothing new."""
        now_s = time.monotonic()
        again = now_s >= self._again_s
        if not (again or self._just_named or self._pending or self._groups):
            return {}
        if again:
            self._again_s = now_s + _THREADS_S
        with raised(NAMES):
            return self._news(again)

    def _news(self, again: bool) -> dict[str, Any]:
        pids = [pid for pid in list(self._pending)[-_AT_ONCE:] if self._is_there(pid)]
        self._pending.clear()
        for pid in pids:
            self._learn_group(self.details.processes[pid].cgroup)
        self._look_up()
        self._forget()
        gone, self._gone = self._gone, []
        fresh, self._fresh = self._fresh, set()
        named, self._just_named = self._just_named, set()
        bound = self._newly_bound(self._threads.keys() if again else named & self._threads.keys())
        if not (pids or fresh or gone or bound):
            return {}
        kept = [pid for pid in pids if pid in self.details.processes]
        return {GONE: gone, BOUND: bound, **self.details.selected(kept, sorted(fresh))}

    def _newly_bound(self, threads: Iterable[int]) -> dict[str, int]:
        """Those whose only CPU is another one than before; of those that are gone it stays."""
        found: dict[int, int] = {}
        for tid in list(threads):
            # Asking takes a fortieth of what reading the status does.
            cpus = allowed_cpus_of_thread(tid)
            if cpus and cpus == self._threads[tid]:
                continue
            self._threads[tid] = cpus
            cpu = only_cpu_of(tid, self._files)
            if cpu is None:
                del self._threads[tid]
            elif cpu != self.details.bound.get(tid, -1):
                found[tid] = cpu
        self._threads = dict(list(self._threads.items())[-_THREADS:])
        self.details.bind(found)
        return {str(tid): cpu for tid, cpu in found.items()}

    def _is_there(self, pid: int) -> bool:
        """Reads it. Of a process that is gone, no thread is looked for."""
        found = bool(pid) and self._read(pid)
        if not found:
            self._threads.pop(pid, None)
        return found

    def _read(self, pid: int) -> bool:
        """Whether the process is still there. What is known of one that is gone stays, unless its
        number has another name by now."""
        process = read_process(pid, self._files)
        if process is not None:
            self.details.processes[pid] = process
            self._named[pid] = None
        elif pid in self.details.processes:
            self._drop(pid)
        return process is not None

    def _drop(self, pid: int) -> None:
        del self.details.processes[pid]
        self._named.pop(pid, None)
        self._gone.append(pid)

    def _learn_group(self, path: str, number: int = 0) -> None:
        if path not in self.details.cgroups:
            self.details.cgroups[path] = named(path, self._files)
            self._fresh.add(path)
        if self._mount is not None and not number:
            number = number_of(self._mount / path.lstrip("/"))
        if number and self.details.paths.get(number) != path:
            self.details.paths[number] = path
            self._fresh.add(path)

    def _look_up(self) -> None:
        """Control groups of tasks that were gone before they could be read."""
        wanted = self._groups - self.details.paths.keys()
        self._looked_up |= self._groups
        self._groups.clear()
        if wanted and self._mount is not None:
            for number, path in paths_by_id(wanted, self._mount).items():
                self._learn_group(path, number)

    def _forget(self) -> None:
        """Keeps the number of processes bounded: those that are gone go first."""
        if len(self._named) <= MOST_PROCESSES:
            return
        oldest_first = list(self._named)
        ended = [pid for pid in oldest_first if not self._files.exists(f"/proc/{pid}")]
        excess = len(oldest_first) - MOST_PROCESSES * 3 // 4
        for pid in list(dict.fromkeys([*ended, *oldest_first]))[:excess]:
            self._drop(pid)
