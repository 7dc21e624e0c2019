"""What a trace watches."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """What is watched: CPUs, and in PID mode only what befalls one process on them."""

    cpus: tuple[int, ...]
    pid: int = 0
    title: str = ""
    cgroup_id: int = 0
    cgroup_level: int = 0
    follow: bool = False

    @property
    def victims(self) -> str:
        """Who loses time, in the words of ``enum noise_victims``."""
        if self.cgroup_id:
            return "CGROUP"
        if self.follow:
            return "TREE"
        return "PROCESS" if self.pid else "USERS"
