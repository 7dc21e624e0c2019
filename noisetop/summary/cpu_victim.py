"""Who is the victim on a CPU where whichever task runs is watched: said, or inferred.

A task that is bound to the CPU alone, else the one that used most of its time, else nobody. Told
by figures that a running trace and a recording both have, so that they tell the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any

from noisetop.events.interruption import Source
from noisetop.events.source_names import OWN
from noisetop.events.task_directory import TaskDirectory
from noisetop.events.trigger import Trigger
from noisetop.events.victim_time import ANY_TASK, VictimTime
from noisetop.summary.short_lived import STARTED

MOST = 0.6
"""Share of the time that tasks ran on a CPU: the one that has it claims the CPU. Two that take
turns have half each, and a little more by chance."""
_LEAST = 0.01
"""Share of the period that a task which is not bound must have run."""
_LASTING = 0.5
"""Share of the period that a bound task must have been there: what others start for a moment is
bound as well."""
VICTIM, CONTENTION = "victim", "contention"
GIVEN, BOUND, MOSTLY = "given", "bound", "cpu_time"


@dataclass(frozen=True, slots=True)
class CpuVictim:
    """The victim of one CPU. Its name is untrusted."""

    tid: int
    """Of its threads there the one that ran for longest."""
    name: str
    pid: int
    """Its process; 0: not known."""
    kernel: bool
    """A thread of the kernel."""
    found: str
    """How: GIVEN, BOUND or MOSTLY."""

    def includes(self, tid: int, directory: TaskDirectory) -> bool:
        """Whether that is it, or another thread of its process."""
        return tid == self.tid or (self.pid != 0 and directory.pid(tid) == self.pid)


CpuVictims = Mapping[int, CpuVictim | None]
"""By CPU; None: nobody claims it. A CPU on which victims are chosen otherwise is not in it."""


@dataclass(frozen=True, slots=True)
class Claims:
    """What decides who the victims of CPUs are."""

    any_task: bool = False
    """Whether whichever task runs is watched."""
    given: str = ""
    """Who it is, by name or number; empty: to be inferred."""
    own_pid: int = 0
    """Of the noisetop that traced: none of its threads is a victim; 0: not known."""

    @classmethod
    def of(cls, metadata: Mapping[str, Any]) -> Claims:
        """Of a recording."""
        own_pid = metadata.get("own_pid")
        return cls(
            metadata.get("victims") == ANY_TASK,
            str(metadata.get("victim") or ""),
            own_pid if isinstance(own_pid, int) else 0,
        )

    def victims(
        self,
        cpus: Iterable[int],
        times: Mapping[int, VictimTime],
        directory: TaskDirectory,
        duration_ns: int,
    ) -> dict[int, CpuVictim | None]:
        """The victim of each CPU, from where the time of all tasks went in the period; empty where
        that is not known."""
        if not self.any_task or not times:
            return {}
        ran_on: dict[int, dict[int, int]] = {cpu: {} for cpu in cpus}
        for tid, one in times.items():
            if self.own_pid and directory.pid(tid) == self.own_pid:
                continue
            for cpu in one.ran_on.keys() & ran_on.keys():
                ran_on[cpu][tid] = one.ran_on[cpu]
        lasting = {tid for tid, one in times.items() if one.wall_ns >= _LASTING * duration_ns}
        return {
            cpu: self._victim(cpu, ran, lasting, directory, _LEAST * duration_ns)
            for cpu, ran in ran_on.items()
        }

    def _victim(
        self,
        cpu: int,
        ran: Mapping[int, int],
        lasting: Set[int],
        directory: TaskDirectory,
        least_ns: float,
    ) -> CpuVictim | None:
        said = {tid: ns for tid, ns in ran.items() if self._is_given(tid, directory)}
        if said:
            return _largest(said, directory, GIVEN, 0, most=0)
        bound = {
            tid: ns
            for tid, ns in ran.items()
            if directory.details.bound.get(tid) == cpu and tid in lasting
        }
        if bound:
            return _largest(bound, directory, BOUND, 0)
        return _largest(ran, directory, MOSTLY, least_ns) if ran else None

    def _is_given(self, tid: int, directory: TaskDirectory) -> bool:
        if not self.given:
            return False
        pid = directory.pid(tid) or tid
        names = directory.name(tid), directory.name(pid)
        return self.given in (str(tid), str(pid), *names)


def _largest(
    ran: Mapping[int, int],
    directory: TaskDirectory,
    found: str,
    least_ns: float,
    most: float = MOST,
) -> CpuVictim | None:
    """The process that ran for longest, if it has enough of the time of all these threads."""
    processes: dict[int, dict[int, int]] = {}
    for tid, ns in ran.items():
        processes.setdefault(directory.pid(tid) or tid, {})[tid] = ns
    threads = max(processes.values(), key=lambda one: (sum(one.values()), -min(one)))
    ran_ns = sum(threads.values())
    if ran_ns < most * sum(ran.values()) or ran_ns < least_ns:
        return None
    tid = max(threads, key=lambda one: (threads[one], -one))
    info = directory.infos.get(tid)
    kernel = info is not None and info.kernel
    pid = 0 if kernel else directory.pid(tid)
    return CpuVictim(tid, directory.name(tid), pid, kernel, found)


def never_accused(cpu: int, whose: CpuVictims) -> tuple[CpuVictim, ...]:
    """Victims that are no noise on a CPU: its own, and wherever they run those that were said or
    are bound. What merely runs most on another CPU may well be noise on this one."""
    return tuple(
        one
        for on, one in whose.items()
        if one is not None and (on == cpu or one.found in (GIVEN, BOUND))
    )


@dataclass(frozen=True, slots=True)
class SetAside:
    """What ran on a CPU and is no noise to its victim: its own turns, or where nobody claims it,
    those of all programs."""

    victims: tuple[CpuVictim, ...]
    claimed: bool
    directory: TaskDirectory

    @classmethod
    def on(cls, cpu: int, whose: CpuVictims, directory: TaskDirectory) -> SetAside:
        """For a CPU of ``whose``."""
        return cls(never_accused(cpu, whose), whose[cpu] is not None, directory)

    @property
    def why(self) -> str:
        """As noisetop.summary.summary.SourceSummary.aside."""
        return VICTIM if self.claimed else CONTENTION

    def includes(self, source: Source, task: Trigger) -> bool:
        """Whether a task that stands for a trigger, see SourceSummary.tasks, is one of those."""
        if OWN in source.path[1:2]:
            return False
        started = task.context == STARTED
        if self.claimed:
            mine = any(one.includes(task.tid, self.directory) for one in self.victims)
            return mine and task.tid != 0 and not started
        info = self.directory.infos.get(task.tid)
        return started or (info is not None and not info.kernel)
