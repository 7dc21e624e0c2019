"""Processes and threads by name, as they are now."""

from __future__ import annotations

from dataclasses import dataclass

from noisetop.machine.files import Files
from noisetop.machine.task_details import command_of
from noisetop.machine.tasks import status_fields

_COMM_LENGTH = 15
"""The kernel keeps no more of a name."""
_GONE = ("Z", "X")


@dataclass(frozen=True, slots=True)
class FoundTask:
    """A thread, or the first one of a process. Its texts are untrusted."""

    tid: int
    pid: int
    """Of its process."""
    name: str
    command: str


def find_task(tid: int, files: Files) -> FoundTask | None:
    """The thread of this number, or None where there is none or it has ended."""
    return _task(tid, f"/proc/{tid}", files)


def processes_named(name: str, files: Files) -> list[FoundTask]:
    """By the name of their first thread, lowest PID first."""
    found = _named(name, files.glob("/proc", "[0-9]*"), files)
    return [one for one in found if one.tid == one.pid]


def threads_named(name: str, files: Files) -> list[FoundTask]:
    """All threads of this name, by process."""
    return _named(name, files.glob("/proc", "[0-9]*/task/[0-9]*"), files)


def _named(name: str, directories: list[str], files: Files) -> list[FoundTask]:
    wanted = name.encode()[:_COMM_LENGTH].decode(errors="replace")
    found = []
    for directory in directories:
        if files.read_again(f"{directory}/comm").text != wanted:
            continue
        if task := _task(int(directory.rpartition("/")[2]), directory, files):
            found.append(task)
    return sorted(found, key=lambda one: (one.pid, one.tid))


def _task(tid: int, directory: str, files: Files) -> FoundTask | None:
    status = status_fields(files.read_again(f"{directory}/status").text)
    pid = status.get("Tgid", "")
    if not pid.isdecimal() or status.get("State", "").startswith(_GONE):
        return None
    return FoundTask(tid, int(pid), status.get("Name", ""), command_of(int(pid), files))
