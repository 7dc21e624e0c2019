"""What a run does after its programs are attached, and which capabilities it keeps for that."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import noisetop
from noisetop.machine.files import Files
from noisetop.tracing.capabilities import (
    ATTACH,
    AUDIT,
    FILES,
    NAMES,
    NONE,
    SIGNALS,
    STACKS,
    Capability,
    drop_capabilities,
    maps_take_a_capability,
    none_effective,
    permitted,
)


@dataclass(frozen=True, slots=True)
class LaterSteps:
    """Of one run."""

    tasks: bool = True
    """Reads /proc of tasks that it meets."""
    names: bool = True
    """Looks up the names of their containers."""
    stacks: bool = False
    """Names the functions in stacks of programs."""
    audit: bool = False
    """Looks at the whole machine, for causes and remedies."""
    signals: bool = False
    """Signals other processes, or ends the command after ``--``."""
    folders: tuple[Path, ...] = ()
    """Where it writes files."""


NOTHING_MORE = LaterSteps()
"""Beside what every run does."""


@dataclass(frozen=True, slots=True)
class Obstacles:
    """What takes a capability here, for these folders."""

    maps: bool = False
    """Reading a BPF map, and attaching a program that is loaded."""
    hidden_tasks: bool = False
    """Reading /proc of tasks of other users: hidepid."""
    private_program: bool = False
    """Reading noisetop's own files, which lie where only their owner may look."""
    folders: bool = False
    """Writing into one of the folders, or giving a file to who called."""


def kept_capabilities(steps: LaterSteps, obstacles: Obstacles) -> tuple[Capability, Capability]:
    """What is permitted later, and what of that is in effect all the time."""
    effective = kept = NONE
    if obstacles.maps:
        effective |= Capability.BPF
    if obstacles.private_program:
        effective |= Capability.DAC_READ_SEARCH
    if steps.names:
        kept |= NAMES & ~Capability.SYS_PTRACE
    if steps.tasks and obstacles.hidden_tasks:
        kept |= Capability.SYS_PTRACE
    if steps.stacks:
        kept |= STACKS
    if steps.audit:
        kept |= AUDIT
    if steps.signals:
        kept |= SIGNALS
    if steps.folders and obstacles.folders:
        kept |= FILES
    return kept | effective, effective


def give_up_capabilities(steps: LaterSteps) -> None:
    """Leaves this thread, and those that it starts, with what these steps take: see
    drop_capabilities()."""
    kept, effective = kept_capabilities(steps, _obstacles(steps))
    if effective & Capability.BPF and not permitted() & Capability.BPF:
        # Whoever was given only that has no other: it stands for both in the kernel.
        kept, effective = kept | Capability.SYS_ADMIN, effective | Capability.SYS_ADMIN
    drop_capabilities(kept, effective)


def keep_what_attaching_takes(folder: Path) -> None:
    """For who attaches again and again until its end: gives up the rest. It writes a file into the
    folder, which it makes if there is none."""
    there = next(one for one in (folder, *folder.parents) if one.exists())
    kept = ATTACH | FILES if _writing_takes_capabilities((there,)) else ATTACH
    if not permitted() & Capability.BPF:
        kept |= Capability.SYS_ADMIN
    drop_capabilities(kept, kept)


def _obstacles(steps: LaterSteps) -> Obstacles:
    """Found by trying."""
    maps = maps_take_a_capability()
    with none_effective():
        return Obstacles(
            maps=maps,
            hidden_tasks=Files().hides_processes,
            private_program=any(map(_is_refused, _own_folders())),
            folders=_writing_takes_capabilities(steps.folders),
        )


def _own_folders() -> Iterable[Path]:
    return (Path(place) for place in (*noisetop.__path__, *sys.path) if place)


def _is_refused(folder: Path) -> bool:
    """Whether the folder may not be read."""
    try:
        os.close(os.open(folder, os.O_RDONLY | os.O_CLOEXEC))
    except OSError as error:
        return error.errno == errno.EACCES
    return False


def _writing_takes_capabilities(folders: Iterable[Path]) -> bool:
    with none_effective():
        return _gives_files() or any(map(_takes_no_file, folders))


def _takes_no_file(folder: Path) -> bool:
    """Whether no file may be made there. File systems that have none without a name look at the
    permission first."""
    try:
        os.close(os.open(folder, os.O_WRONLY | os.O_TMPFILE | os.O_CLOEXEC, 0o600))
    except OSError as error:
        return error.errno in (errno.EACCES, errno.EPERM)
    return False


def _gives_files() -> bool:
    """See noisetop.output.give_to_caller()."""
    return os.geteuid() == 0 and "SUDO_UID" in os.environ
