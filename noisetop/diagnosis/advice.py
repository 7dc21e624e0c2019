"""What to type on the machine as it is now, and what puts back the values that were read."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from noisetop.checks import AuditedMachine
from noisetop.checks.irq import is_managed
from noisetop.checks.remedy import boot_argument, pin, sysctl, write
from noisetop.checks.result import Remedy
from noisetop.checks.workload import quota_limits
from noisetop.diagnosis.evidence import Evidence, Share
from noisetop.machine.files import FileText, hex_mask
from noisetop.machine.reading import Reading
from noisetop.machine.tasks import Task
from noisetop.text.cpu_list import format_cpu_list

_PROC_SYS = "/proc/sys/"
_ECHO = re.compile(r"echo (\S+|'[^']*') > (/\S+)")
_SYSCTL = re.compile(r"sysctl -w((?: [\w.]+=(?:\S+|'[^']*'))+)")
_CHOSEN = re.compile(r"(?<!\S)\[(\S+)\](?!\S)")
_MOST_THREADS = 16
_MOST_READINGS = 4


@dataclass(frozen=True, slots=True)
class Situation:
    """A finding in the making, and the machine that it is about."""

    machine: AuditedMachine
    evidence: Evidence
    shares: Sequence[Share]
    about: str
    keep: str
    """CPUs to move things to."""
    isolate: str
    """CPUs to isolate."""
    remedy: str
    """What the rule says in general."""

    @property
    def cpus(self) -> frozenset[int]:
        """Where time was lost."""
        return frozenset(share.cpu for share in self.shares)


@dataclass(frozen=True, slots=True)
class Advice:
    """A remedy with its undo, and what was read for it."""

    remedy: Remedy
    readings: tuple[Reading, ...]


Act = Callable[[Situation], Advice | None]
"""Makes the remedy for a machine; None where too little is known about it."""


def write_back(situation: Situation) -> Advice | None:
    """The rule's own remedy where it only writes files; the undo writes what they hold now."""
    done: list[tuple[Remedy, FileText]] = []
    for command in situation.remedy.split("; "):
        written = _echo(situation.machine, command) or _sysctls(situation.machine, command)
        if not written:
            return None
        done += written
    return _together(done)


def _together(done: Iterable[tuple[Remedy, FileText]]) -> Advice | None:
    changes = list(done)
    if not changes:
        return None
    remedy = Remedy(
        "; ".join(change.command for change, _ in changes),
        "; ".join(change.undo for change, _ in changes),
    )
    return Advice(remedy, tuple(file.reading for _, file in changes[:_MOST_READINGS]))


def _echo(machine: AuditedMachine, command: str) -> list[tuple[Remedy, FileText]]:
    """``echo VALUE > FILE``; nothing where that cannot be read."""
    match = _ECHO.fullmatch(command)
    file = machine.read(match[2]) if match else None
    if match is None or file is None or not file.ok:
        return []
    # A file that offers several values marks the one that holds: always [madvise] never.
    chosen = _CHOSEN.search(file.text)
    value = shlex.split(match[1])[0]
    return [(write(file, value, undo=chosen[1] if chosen else None), file)]


def _sysctls(machine: AuditedMachine, command: str) -> list[tuple[Remedy, FileText]]:
    """``sysctl -w NAME=VALUE …``, of what this kernel has."""
    match = _SYSCTL.fullmatch(command)
    if match is None:
        return []
    changes = (word.partition("=") for word in shlex.split(match[1]))
    files = [(machine.read(_PROC_SYS + name.replace(".", "/")), new) for name, _, new in changes]
    return [(sysctl(file, new), file) for file, new in files if file.ok]


def move_threads(situation: Situation) -> Advice | None:
    """Threads with the name that the finding is about."""
    return _moved(situation, lambda task: task.comm == situation.about)


def move_kernel_threads(situation: Situation) -> Advice | None:
    """Threads that the finding saw, by their names."""
    names = {share.path[1] for share in situation.shares if len(share.path) > 1}
    return _moved(situation, lambda task: task.comm in names)


def move_process(situation: Situation) -> Advice | None:
    """All threads of the processes that have one with the name that the finding is about."""
    named = {task.pid for task in situation.machine.tasks if task.comm == situation.about}
    return _moved(situation, lambda task: task.pid in named)


def _moved(situation: Situation, wanted: Callable[[Task], bool]) -> Advice | None:
    """Threads that may run where time was lost and can be moved; never those of the program that
    was measured."""
    tasks = [
        task
        for task in situation.machine.tasks
        if wanted(task)
        and task.pid != situation.machine.pid
        and not task.bound
        and task.allowed
        and task.allowed & situation.cpus
    ]
    if not 0 < len(tasks) <= _MOST_THREADS:
        return None
    readings = (
        Reading(f"{task.directory}/status", f"{task.comm}: Cpus_allowed_list: {_listed(task)}")
        for task in tasks[:_MOST_READINGS]
    )
    return Advice(pin(tasks, situation.keep), tuple(readings))


def _listed(task: Task) -> str:
    return format_cpu_list(task.allowed or ())


def move_interrupt(situation: Situation) -> Advice | None:
    """A device's line; one that only the kernel may move takes a boot parameter."""
    machine = situation.machine
    number, name = situation.shares[0].line
    if not is_managed(machine, number, name):
        return write_back(situation)
    file = machine.read(f"/proc/irq/{number}/effective_affinity_list")
    remedy = boot_argument(machine, f"isolcpus=managed_irq,domain,{situation.isolate}")
    return Advice(remedy, (file.reading,))


def stop_steering(situation: Situation) -> Advice | None:
    """Takes CPUs out of the masks of receive queues that name them."""
    machine, done = situation.machine, []
    for path in machine.glob("/sys/class/net", "*/queues/rx-*/rps_cpus"):
        file = machine.read(path)
        cpus = file.mask()
        if cpus and cpus & situation.cpus:
            done.append((write(file, hex_mask(cpus - situation.cpus)), file))
    return _together(done)


def lift_quota(situation: Situation) -> Advice | None:
    """Of the groups of those that were stopped."""
    machine = situation.machine
    files: dict[str, FileText] = {}
    for tid, wait in situation.evidence.waits.items():
        if wait.count.get("throttled"):
            files |= {file.path: file for file in quota_limits(machine, tid) if file.ok}
    done = [
        (write(file, "max" if path.endswith("cpu.max") else "-1"), file)
        for path, file in sorted(files.items())
        if re.match(r"[1-9][0-9]*(?: |$)", file.text)
    ]
    return _together(done)
