"""A process as people know it: command line, parent, control group."""

from __future__ import annotations

from dataclasses import dataclass

from noisetop.machine.cgroup_names import names_of_path
from noisetop.machine.files import Files

LONGEST_COMMAND = 4096
"""Bytes of a command line that are read."""
_DELETED = " (deleted)"
_PARENT = 1
"""Field of /proc/PID/stat behind the name."""


@dataclass(frozen=True, slots=True)
class ProcessDetails:
    """One process, at the moment when it was read. Its texts are untrusted."""

    name: str
    command: str
    """Its arguments, separated by spaces; empty for threads of the kernel."""
    parent: int
    """PID; 0: none."""
    cgroup: str
    """Path of its control group; ``/`` is the root."""


def read_process(pid: int, files: Files) -> ProcessDetails | None:
    """The process, or None when it is gone. Reads no file that interrupts it."""
    base = f"/proc/{pid}"
    if not files.exists(base):  # takes a fifth of a file that cannot be opened
        return None
    head, _, tail = files.read_again(f"{base}/stat").text.rpartition(")")
    fields = tail.split()
    if len(fields) <= _PARENT or not fields[_PARENT].isdecimal():
        return None
    return ProcessDetails(
        name=head.partition("(")[2],
        command=command_of(pid, files),
        parent=int(fields[_PARENT]),
        cgroup=cgroup_of(files.read_again(f"{base}/cgroup").text),
    )


def command_of(pid: int, files: Files) -> str:
    """See ProcessDetails.command; empty also where it cannot be read."""
    try:
        raw = files.read_bytes(f"/proc/{pid}/cmdline", LONGEST_COMMAND)
    except OSError:
        return ""
    return raw.rstrip(b"\0").replace(b"\0", b" ").decode(errors="replace")


def cgroup_of(memberships: str) -> str:
    """The control group that says most in the text of /proc/PID/cgroup: that of v2, else systemd's
    own one of v1, else one that holds a container."""
    paths: dict[str, str] = {}
    for line in memberships.splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        paths[controllers] = path.removesuffix(_DELETED)
    for controllers in ("", "name=systemd"):
        if (path := paths.get(controllers, "")).strip("/"):
            return path
    return next((path for path in paths.values() if names_of_path(path).container_id), "/")
