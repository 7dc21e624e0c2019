"""What to type on the machine as it is now, and what puts back the values that were read."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from noisetop.checks import AuditedMachine
from noisetop.checks.irq import is_managed
from noisetop.checks.remedy import boot_argument, pin, sysctl, write
from noisetop.checks.result import Remedy
from noisetop.checks.workload import quota_limits
from noisetop.diagnosis.culprits import Culprit, culprits
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
_UNCHANGED = "nothing was changed"
_ALLOCATORS = {
    "jemalloc": "MALLOC_CONF=dirty_decay_ms:-1,muzzy_decay_ms:-1",
    "tcmalloc": "TCMALLOC_RELEASE_RATE=0",
}
"""What has allocators that take the place of the C library's keep what is freed."""
PROGRAM = "PROGRAM"
"""In the place of a name or a command line that is not known."""
KEEP_MAPPINGS = "keep the mapping and use it again, in place of munmap"
MOVED_BACK = "the same with the lists that the remedy printed"
_LEAST = 0.01
"""Share of a finding from which on a program is worth a command."""
_SCHEDULER = "/sys/kernel/debug/sched"
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
    readings = tuple(file.reading for _, file in done[:_MOST_READINGS])
    return Advice(Remedy(situation.otherwise, _UNCHANGED, shell=False), readings, otherwise="")


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
    """The processes that the finding saw; where none is known, threads with the name that it is
    about, or with those that it saw."""
    if situation.binders and not situation.runners - situation.binders:
        return None
    if pids := situation.runners - situation.binders:
        return _moved(situation, lambda task: task.pid in pids)
    seen = {share.path[1] for share in situation.shares if len(share.path) > 1}
    names = {situation.about} if situation.about else seen
    return _moved(situation, lambda task: task.comm in names)


def move_programs(situation: Situation) -> Advice | None:
    """Programs, and who starts those that are gone: its next ones run where it may run. Who binds
    what it starts is stopped."""
    moved = move_threads(situation)
    if not situation.binders:
        return moved
    paused = _paused(situation.binders)
    if moved is None:
        return Advice(paused)
    both = Remedy(
        f"{moved.remedy.command}; {paused.command}", f"{moved.remedy.undo}; {paused.undo}"
    )
    return replace(moved, remedy=both)


def move_neighbours(situation: Situation) -> Advice | None:
    """Programs that ran on the same CPUs."""
    evidence = situation.evidence
    seen = [one for one in evidence.shares if one.is_program and one.cpu in situation.cpus]
    who = culprits(seen, evidence)
    return move_programs(replace(situation, shares=seen, about="", culprits=who))


def move_process(situation: Situation) -> Advice | None:
    """All threads of the processes that have one with the name that the finding is about."""
    tasks = situation.machine.tasks
    named = {task.pid for task in tasks if task.comm == situation.about and not task.kernel}
    return _moved(situation, lambda task: task.pid in named)


def move_service(situation: Situation) -> Advice | None:
    """Threads of a service. Where systemd starts it, the rule's other remedy lasts longer."""
    with_systemd = situation.machine.exists("/run/systemd/system")
    moved = move_threads(situation)
    if moved is None:
        general = Remedy(situation.remedy, MOVED_BACK, shell=False)
        moved = Advice(general)
    return moved if with_systemd else replace(moved, otherwise="")


def pause_sender(situation: Situation) -> Advice | None:
    """Stops who caused it until it is told to go on: more than that is not in anybody's power
    while the victim runs."""
    pids = set(situation.senders) - situation.measured - {1}
    return Advice(_paused(pids)) if pids else None


def _paused(pids: Iterable[int]) -> Remedy:
    numbers = " ".join(str(pid) for pid in sorted(pids)[:_MOST_THREADS])
    return Remedy(f"kill -STOP {numbers}", f"kill -CONT {numbers}")


def keep_freed_memory(situation: Situation) -> Advice | None:
    """Has the allocator that the program uses keep what is freed. One that is told so already is
    not it: the program calls the kernel itself."""
    machine = situation.machine
    if len(situation.senders) != 1:
        return None
    folder = f"/proc/{situation.senders[0]}"
    command, maps = machine.read(f"{folder}/cmdline"), machine.read(f"{folder}/maps")
    if not maps.ok or not command.text:
        return None
    library = _allocator(maps.text)
    settings = (setting for name, setting in _ALLOCATORS.items() if name in library)
    setting = next(settings, situation.remedy.removesuffix(f" {PROGRAM}"))
    told = set(machine.read(f"{folder}/environ").text.split("\0"))
    if not library or told >= set(setting.split()):
        return Advice(Remedy(KEEP_MAPPINGS, "the former program", shell=False), otherwise="")
    program = shlex.join(command.text.split("\0"))
    again = Remedy(f"{setting} {program}", program, shell=False)
    return Advice(again, (Reading(maps.path, library),))


def _allocator(maps: str) -> str:
    """The file of the allocator among those that a program has mapped, else of its C library."""
    found = set(re.findall(r"/\S*/lib(?:jemalloc|tcmalloc|c[.-])\S*", maps))
    return min(found, key=lambda path: ("/libc" in path, path), default="")


def _moved(situation: Situation, wanted: Callable[[Task], bool]) -> Advice | None:
    """Threads that may run where time was lost and can be moved; never those of the program that
    was measured."""
    tasks = [
        task
        for task in situation.machine.tasks
        if wanted(task)
        and task.pid not in situation.measured
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
