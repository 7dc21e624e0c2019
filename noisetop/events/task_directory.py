"""Who the tasks are, as people know them: process, command line, parent, unit, container."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from noisetop.checked_json import whole
from noisetop.events.task_names import TaskInfo
from noisetop.machine.cgroup_names import CgroupNames
from noisetop.machine.task_details import ProcessDetails

MOST_PROCESSES = 4096
"""That are kept; those named longest ago are forgotten first."""
PROCESSES, CGROUPS, GONE, BOUND = "processes", "cgroups", "gone_processes", "bound_threads"
"""Keys of a recording's metadata; the third one only while it grows."""
DETAILS = (PROCESSES, CGROUPS, GONE, BOUND)
_UNKNOWN = CgroupNames("")


@dataclass(slots=True)
class Details:
    """What was read from /proc while the tasks lived. May grow."""

    processes: dict[int, ProcessDetails] = field(default_factory=dict)
    """By PID, those named longest ago first."""
    cgroups: dict[str, CgroupNames] = field(default_factory=dict)
    """By path."""
    paths: dict[int, str] = field(default_factory=dict)
    """Of control groups, by id."""
    bound: dict[int, int] = field(default_factory=dict)
    """The only CPU that a thread may run on, by tid; -1: it may run on several again."""

    def add(self, content: Mapping[str, Any]) -> None:
        """Takes what to_file() or news of a process watch said. Raises KeyError, TypeError,
        ValueError or AttributeError on what we did not write."""
        for pid in content.get(GONE, ()):
            self.processes.pop(whole(pid), None)
        for pid, about in content.get(PROCESSES, {}).items():
            self.processes.pop(whole(pid), None)
            self.processes[whole(pid)] = ProcessDetails(
                str(about["name"]),
                str(about["command"]),
                whole(about["parent"]),
                str(about["cgroup"]),
            )
        for path, about in content.get(CGROUPS, {}).items():
            names = {name: str(about[name]) for name in _NAMES}
            self.cgroups[str(path)] = CgroupNames(str(path), **names)
            self.paths |= {whole(number): str(path) for number in about["ids"]}
        self.bind({whole(tid): whole(cpu) for tid, cpu in content.get(BOUND, {}).items()})
        while len(self.processes) > MOST_PROCESSES:
            del self.processes[next(iter(self.processes))]

    def bind(self, bound: Mapping[int, int]) -> None:
        """Threads and their only CPU; those told longest ago are forgotten first."""
        for tid, cpu in bound.items():
            self.bound.pop(tid, None)
            self.bound[tid] = cpu
        while len(self.bound) > MOST_PROCESSES:
            del self.bound[next(iter(self.bound))]

    def to_file(self) -> dict[str, Any]:
        """Entries of a recording's metadata, ready for the json module."""
        bound = {str(tid): cpu for tid, cpu in self.bound.items()}
        return {**self.selected(self.processes, self.cgroups), BOUND: bound}

    def selected(self, pids: Iterable[int], paths: Iterable[str]) -> dict[str, Any]:
        """The same of some processes and control groups."""
        ids: dict[str, list[int]] = {}
        for number, path in self.paths.items():
            ids.setdefault(path, []).append(number)
        return {
            PROCESSES: {str(pid): _process(self.processes[pid]) for pid in pids},
            CGROUPS: {
                path: {"ids": ids.get(path, [])}
                | {name: getattr(self.cgroups[path], name) for name in _NAMES}
                for path in paths
            },
        }


_NAMES = ("unit", "runtime", "container_id", "container", "pod")


def _process(one: ProcessDetails) -> dict[str, object]:
    return {
        "name": one.name,
        "command": one.command,
        "parent": one.parent,
        "cgroup": one.cgroup,
    }


@dataclass(slots=True)
class TaskDirectory:
    """Answers by tid. All its parts may grow. Its texts are not harmless on a terminal."""

    names: Mapping[int, str] = field(default_factory=dict)
    """Of tasks, by tid."""
    infos: Mapping[int, TaskInfo] = field(default_factory=dict)
    details: Details = field(default_factory=Details)

    def pid(self, tid: int) -> int:
        """The process of a thread; 0: not known."""
        info = self.infos.get(tid)
        return info.tgid if info else tid if tid in self.details.processes else 0

    def parent(self, tid: int) -> int:
        """The process that started that of a thread; 0: none, or not known."""
        info = self.infos.get(tid)
        if info:
            return info.parent
        process = self.details.processes.get(tid)
        return process.parent if process else 0

    def command(self, tid: int) -> str:
        """The command line of its process; empty where there is none, or it is not known."""
        process = self.details.processes.get(self.pid(tid))
        return process.command if process else ""

    def cgroup(self, tid: int) -> CgroupNames:
        """The control group of its process; an empty path where it is not known."""
        process = self.details.processes.get(self.pid(tid))
        info = self.infos.get(tid)
        path = process.cgroup if process else self.details.paths.get(info.cgroup if info else 0, "")
        return self.details.cgroups.get(path, _UNKNOWN)

    def name(self, tid: int) -> str:
        """What it was called last; empty where that is not known."""
        process = self.details.processes.get(tid)
        return self.names.get(tid) or (process.name if process else "")

    def about(self, tid: int) -> str:
        """``unit redis.service``, of a thread that is not the first one of its process with that:
        ``PID 1234 redis-server, unit redis.service``. Empty where nothing is known."""
        pid = self.pid(tid)
        process = f"PID {pid} {self.name(pid)}".rstrip() if pid not in (0, tid) else ""
        return ", ".join(filter(None, (process, self.cgroup(tid).label)))

    def describe(self, tid: int) -> str:
        """``redis-server 1234 (unit redis.service)``."""
        who, about = f"{self.name(tid)} {tid}".strip(), self.about(tid)
        return f"{who} ({about})" if about else who

    def describe_process(self, pid: int) -> str:
        """``cronish.sh (PID 4711, unit cron.service)``."""
        about = ", ".join(filter(None, (f"PID {pid}", self.cgroup(pid).label)))
        name = self.name(pid)
        return f"{name} ({about})" if name else about

    def as_dict(self, tid: int) -> dict[str, object]:
        """As ``--json`` shows it; 0 and empty where it is not known."""
        group = self.cgroup(tid)
        return {
            "pid": self.pid(tid),
            "command": self.command(tid),
            "unit": group.unit,
            "container": group.container or group.container_id,
            "container_id": group.container_id,
            "pod": group.pod,
            "parent": self.parent_as_dict(self.parent(tid)),
        }

    def parent_as_dict(self, pid: int) -> dict[str, object] | None:
        """The same of a process that started another; None for 0."""
        return {"pid": pid, "name": self.name(pid)} if pid else None
