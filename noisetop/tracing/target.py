"""What a trace watches."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """What is watched: CPUs, and with victims of its own only what befalls these on them."""

    cpus: tuple[int, ...]
    pid: int = 0
    """The process, where it is a single one."""
    title: str = ""
    cgroup_id: int = 0
    cgroup_level: int = 0
    follow: bool = False
    """Also the children of the processes."""
    pids: tuple[int, ...] = ()
    """The processes, where they are several."""
    tids: tuple[int, ...] = ()
    """Single threads, of whichever processes."""

    @property
    def victims(self) -> str:
        """Who loses time, in the words of ``enum noise_victims``."""
        if self.cgroup_id:
            return "CGROUP"
        if self.tids:
            return "THREADS"
        if self.follow:
            return "TREE"
        if self.pids:
            return "PROCESSES"
        return "PROCESS" if self.pid else "USERS"

    @property
    def processes(self) -> tuple[int, ...]:
        """PIDs of all processes, one or several."""
        return self.pids or ((self.pid,) if self.pid else ())

    @property
    def tasks(self) -> tuple[int, ...]:
        """The numbers that say who the victims are: TIDs or PIDs."""
        return self.tids or self.processes
