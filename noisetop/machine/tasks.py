"""A thread as /proc describes it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from noisetop.machine.files import Files
from noisetop.text.cpu_list import cpu_set

# include/linux/sched.h
_PF_KTHREAD = 0x00200000
_PF_NO_SETAFFINITY = 0x04000000
# include/uapi/linux/sched.h
_FIFO, _RR, _DEADLINE = 1, 2, 6

# Fields of /proc/PID/stat behind the name, counted from 0 (man 5 proc counts from 3).
_FLAGS, _MAJOR_FAULTS, _LAST_CPU, _POLICY = 6, 9, 36, 38
_ALLOWED = re.compile(r"^Cpus_allowed_list:\s*(.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Task:
    """One thread, at the moment when it was read."""

    tid: int
    pid: int
    comm: str
    allowed: frozenset[int] | None
    """CPUs that it may run on; None when that may not be read."""
    last_cpu: int
    flags: int
    policy: int
    switches: int
    """Times that it left a CPU since it was born."""
    major_faults: int
    """Page faults that had to wait for a disk."""

    @property
    def directory(self) -> str:
        """Where it was read."""
        return f"/proc/{self.pid}/task/{self.tid}"

    @property
    def kernel(self) -> bool:
        """Whether it is a thread of the kernel."""
        return bool(self.flags & _PF_KTHREAD)

    @property
    def bound(self) -> bool:
        """Whether the kernel refuses to move it."""
        return bool(self.flags & _PF_NO_SETAFFINITY)

    @property
    def realtime(self) -> bool:
        """Whether its policy precedes that of normal tasks."""
        return self.policy in (_FIFO, _RR, _DEADLINE)

    @property
    def round_robin(self) -> bool:
        """Whether it takes turns with tasks of the same priority."""
        return self.policy == _RR

    def label(self) -> str:
        """Name and number for a sentence."""
        return f"{self.comm} ({self.tid})"


def _number(text: str) -> int:
    return int(text) if re.fullmatch(r"-?[0-9]{1,20}", text) else 0


def status_fields(text: str) -> dict[str, str]:
    """/proc/PID/status as a table."""
    lines = (line.partition(":") for line in text.splitlines())
    return {key: value.strip() for key, _, value in lines}


def effective_capabilities(status: str) -> int:
    """Of a task by its /proc/PID/status, a bit for each (``include/uapi/linux/capability.h``)."""
    return int(status_fields(status).get("CapEff", "0"), 16)


def only_cpu_of(tid: int, files: Files) -> int | None:
    """The CPU that a thread is bound to alone; -1: it may run on several, None: it is gone."""
    # One field of fifty, of many threads a second.
    listed = _ALLOWED.search(files.read_again(f"/proc/{tid}/status").text)
    cpus = cpu_set(listed[1]) if listed else frozenset()
    return None if not cpus else min(cpus) if len(cpus) == 1 else -1


def read_task(files: Files, directory: str) -> Task | None:
    """The thread of ``/proc/PID/task/TID``, or None when it is gone or makes no sense."""
    stat = files.read(f"{directory}/stat").text
    head, _, tail = stat.rpartition(")")
    fields = tail.split()
    ids = re.fullmatch(r"/proc/([0-9]{1,10})/task/([0-9]{1,10})", directory)
    if ids is None or len(fields) <= _POLICY:
        return None
    status = files.read(f"{directory}/status")
    values = status_fields(status.text)
    listed = values.get("Cpus_allowed_list")
    switches = ("voluntary_ctxt_switches", "nonvoluntary_ctxt_switches")
    return Task(
        tid=int(ids[2]),
        pid=int(ids[1]),
        comm=head.partition("(")[2],
        allowed=cpu_set(listed) if listed else None,
        last_cpu=_number(fields[_LAST_CPU]),
        flags=_number(fields[_FLAGS]),
        policy=_number(fields[_POLICY]),
        switches=sum(_number(values.get(name, "")) for name in switches),
        major_faults=_number(fields[_MAJOR_FAULTS]),
    )
