"""What to type about programs: where they run, whether they run, what they do with memory."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable
from dataclasses import replace

from noisetop.checks.remedy import pin
from noisetop.checks.result import Remedy
from noisetop.diagnosis.advice import MOST_READINGS, PROGRAM, Advice, Situation
from noisetop.diagnosis.culprits import culprits
from noisetop.machine.reading import Reading
from noisetop.machine.tasks import Task
from noisetop.text.cpu_list import format_cpu_list

_MOST_THREADS = 16
_ALLOCATORS = {
    "jemalloc": "MALLOC_CONF=dirty_decay_ms:-1,muzzy_decay_ms:-1",
    "tcmalloc": "TCMALLOC_RELEASE_RATE=0",
}
"""What has allocators that take the place of the C library's keep what is freed."""
KEEP_MAPPINGS = "keep the mapping and use it again, in place of munmap"
MOVED_BACK = "the same with the lists that the remedy printed"


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
    general = Advice(Remedy(situation.remedy, MOVED_BACK, shell=False))
    moved = move_threads(situation) or general
    with_systemd = situation.machine.exists("/run/systemd/system")
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
        for task in tasks[:MOST_READINGS]
    )
    return Advice(pin(tasks, situation.keep), tuple(readings))


def _listed(task: Task) -> str:
    return format_cpu_list(task.allowed or ())
