"""What to type on the machine as it is now, and what puts back the values that were read."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from noisetop.checks import AuditedMachine
from noisetop.checks.irq import is_managed
from noisetop.checks.remedy import boot_argument, sysctl, write
from noisetop.checks.result import Remedy
from noisetop.checks.workload import quota_limits
from noisetop.diagnosis.culprits import Culprit
from noisetop.diagnosis.evidence import Evidence, Share
from noisetop.machine.files import FileText, hex_mask
from noisetop.machine.reading import Reading

_PROC_SYS = "/proc/sys/"
_ECHO = re.compile(r"echo (\S+|'[^']*') > (/\S+)")
_SYSCTL = re.compile(r"sysctl -w((?: [\w.]+=(?:\S+|'[^']*'))+)")
_CHOSEN = re.compile(r"(?<!\S)\[(\S+)\](?!\S)")
_UNCHANGED = "nothing was changed"
PROGRAM = "PROGRAM"
"""In the place of a name or a command line that is not known."""
_LEAST = 0.01
"""Share of a finding from which on a program is worth a command."""
_SCHEDULER = "/sys/kernel/debug/sched"
MOST_READINGS = 4


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
    otherwise: str
    """And the other remedy that it knows."""
    culprits: tuple[Culprit, ...] = ()
    """Who is behind it."""

    @property
    def cpus(self) -> frozenset[int]:
        """Where time was lost."""
        return frozenset(share.cpu for share in self.shares)

    @property
    def senders(self) -> tuple[int, ...]:
        """Processes with the threads that caused it, by PID; those that are there now."""
        tids = {share.sender for share in self.shares if share.sender}
        found = {task.pid for task in self.machine.tasks if task.tid in tids and not task.kernel}
        return tuple(sorted(found))

    @property
    def runners(self) -> frozenset[int]:
        """Processes of the threads that ran, and of who starts them again and again, by PID; those
        that are there now."""
        pids = {culprit.pid for culprit in self._costly if culprit.ran and not culprit.binds}
        return frozenset(task.pid for task in self.machine.tasks if task.pid in pids)

    @property
    def binders(self) -> frozenset[int]:
        """Of these, who says where its tasks run: it was seen to, or may not run there itself."""
        starters = {culprit.pid: culprit for culprit in self._costly if culprit.starts_per_s}
        allowed: dict[int, set[int]] = {}
        for task in self.machine.tasks:
            if task.pid in starters:
                allowed.setdefault(task.pid, set()).update(task.allowed or ())
        found = {
            pid
            for pid, cpus in allowed.items()
            if starters[pid].binds or (cpus and not cpus & self.cpus)
        }
        return frozenset(found - self.measured - {1})

    @property
    def _costly(self) -> list[Culprit]:
        """Those that are worth a command."""
        whole_ns = sum(culprit.cost_ns for culprit in self.culprits)
        return [one for one in self.culprits if one.cost_ns >= _LEAST * whole_ns]

    @property
    def measured(self) -> frozenset[int]:
        """Processes that were measured."""
        return frozenset((*self.evidence.victims, self.machine.pid or 0))


@dataclass(frozen=True, slots=True)
class Advice:
    """A remedy with its undo, and what was read for it."""

    remedy: Remedy
    readings: tuple[Reading, ...] = ()
    otherwise: str | None = None
    """Another remedy; None: that of the rule."""


Act = Callable[[Situation], Advice | None]
"""Makes the remedy for a machine; None where too little is known about it."""


def write_back(situation: Situation) -> Advice | None:
    """The rule's own remedy where it only writes files; the undo writes what they hold now. Where
    they hold it already, the other remedy is left."""
    done: list[tuple[Remedy, FileText]] = []
    for command in situation.remedy.split("; "):
        written = _echo(situation.machine, command) or _sysctls(situation.machine, command)
        if not written:
            return None
        done += written
    needed = [(change, file) for change, file in done if change.command != change.undo]
    if needed or not situation.otherwise:
        return _together(needed or done)
    readings = tuple(file.reading for _, file in done[:MOST_READINGS])
    return Advice(Remedy(situation.otherwise, _UNCHANGED, shell=False), readings, otherwise="")


def _together(done: Iterable[tuple[Remedy, FileText]]) -> Advice | None:
    changes = list(done)
    if not changes:
        return None
    remedy = Remedy(
        "; ".join(change.command for change, _ in changes),
        "; ".join(change.undo for change, _ in changes),
    )
    return Advice(remedy, tuple(file.reading for _, file in changes[:MOST_READINGS]))


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


def lift_throttling(situation: Situation) -> Advice | None:
    """Of real-time tasks: by the fair server of each CPU, or on kernels without one by their share
    of the time."""
    machine = situation.machine
    servers = [
        machine.read(f"{_SCHEDULER}/fair_server/cpu{cpu}/runtime") for cpu in sorted(situation.cpus)
    ]
    if any(server.ok for server in servers):
        return _together([(write(server, "0"), server) for server in servers if server.ok])
    if not machine.exists(f"{_SCHEDULER}/features"):
        return None
    runtime = machine.read(f"{_PROC_SYS}kernel/sched_rt_runtime_us")
    return _together([(sysctl(runtime, "-1"), runtime)]) if runtime.ok else None
