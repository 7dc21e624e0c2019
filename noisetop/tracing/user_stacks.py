"""User stacks by function: addresses are placed in files while their process lives, named later.

The kernel side keeps addresses. What they mean only the process's maps tell, so these are read soon
after a task is met with a stack, and the files are held open. libdw names the functions at the end,
in a process of its own: noisetop.tracing.symbolizer.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from noisetop.events.trigger import UserStacks
from noisetop.events.victim_stacks import NO_STACK
from noisetop.machine.files import Files
from noisetop.machine.process_maps import Mapping, mapping_at, open_mapped, path_here, read_maps
from noisetop.machine.system import ROOT
from noisetop.tracing import symbolizer
from noisetop.tracing.capabilities import STACKS, raised

LIBRARY = "libdw.so.1"
ENDED = "its program had ended before it could be asked"
HIDDEN = "PID namespace: its process cannot be asked"
NO_LIBRARY = (
    "user stacks are without function names: install libdw "
    "(apt install libdw1, dnf install elfutils-libs)"
)
FAILED = "user stacks are without function names: libdw failed on a file of the traced programs"
_MOST_STACKS = 1 << 16
_MOST_FILES = 256
PATIENCE_S = 60
_PF_FORKNOEXEC = 0x00000040
"""include/linux/sched.h: a task that executed no program since it was forked."""
_DEBUG_SERVERS = "DEBUGINFOD_URLS"
_Place = tuple[int, int]
"""Number of a file, and an offset in it."""


@dataclass(frozen=True, slots=True)
class _Frame:
    plain: str
    """What it is called as long as nothing names it."""
    place: _Place | None = None


@dataclass(slots=True)
class _File:
    fd: int
    path: str
    name: str


@dataclass(slots=True)
class UserStackWatch:
    """Places each stack when its task is first met with it. Holds files open until named()."""

    addresses_of: Callable[[int], Sequence[int]]
    """Of a stack by its id, innermost first."""
    root: Path = ROOT
    library: str = LIBRARY
    problem: str = ""
    """Why named() gave no function names, and what to type; empty: it did."""
    _files: Files = field(init=False)
    _stacks: dict[tuple[int, int], tuple[_Frame, ...]] = field(default_factory=dict)
    """By tid and id of the stack."""
    _maps: dict[int, tuple[Mapping, ...]] = field(default_factory=dict)
    """By process."""
    _current: set[int] = field(default_factory=set)
    """Processes whose maps are those of now."""
    _process: dict[int, int] = field(default_factory=dict)
    """By tid."""
    _comm: dict[int, bytes] = field(default_factory=dict)
    _began_ns: dict[int, int] = field(default_factory=dict)
    """When a thread took the name that it has now, where it had another one before."""
    _mapped: list[_File] = field(default_factory=list)
    _asked: set[_Place] = field(default_factory=set)
    _names: dict[_Place, str] = field(default_factory=dict)
    _number: dict[tuple[str, int], int] = field(default_factory=dict)
    """Of a file in ``_mapped``, by device and inode."""

    def __post_init__(self) -> None:
        self._files = Files(self.root)

    def note(self, names: npt.NDArray[np.void], triggers: npt.NDArray[np.void]) -> None:
        """Takes records of ``struct noise_task_name`` and ``struct noise_trigger``."""
        for row in np.sort(names, order="time_ns"):
            self._note_name(row)
        told = triggers[triggers["user_stack"] != NO_STACK]
        pairs = told["tid"].astype(np.uint64) << np.uint64(32) | told["user_stack"]
        first: dict[tuple[int, int], int] = {}
        for pair, at in zip(*np.unique(pairs, return_index=True), strict=True):
            key = int(pair) >> 32, int(pair) & 0xFFFFFFFF
            if key not in self._stacks and len(self._stacks) + len(first) < _MOST_STACKS:
                first[key] = int(told["time_ns"][at])
        if first:
            self._current.clear()
            with raised(STACKS):
                for key, time_ns in first.items():
                    self._stacks[key] = self._placed(*key, time_ns)

    def _note_name(self, row: np.void) -> None:
        """A program that another one takes the place of goes by another name.

        So does a thread that names itself, which is seen only after it was interrupted for the
        first time: where it executed no program, what it was called before does not matter.
        """
        tid, process, comm = int(row["tid"]), int(row["tgid"]), row["comm"]
        self._process[tid] = process
        executed = not int(row["task_flags"]) & _PF_FORKNOEXEC
        if executed and self._comm.get(tid, comm) != comm:
            self._maps.pop(process, None)
            self._began_ns[tid] = int(row["time_ns"])
        self._comm[tid] = comm

    def _placed(self, tid: int, stack: int, time_ns: int) -> tuple[_Frame, ...]:
        # What called is before the address that it goes on from.
        addresses = [
            address - (number > 0) for number, address in enumerate(self.addresses_of(stack))
        ]
        process = self._process.get(tid, tid)
        if time_ns < self._began_ns.get(tid, 0) or not self._know(tid, process, addresses):
            reason = ENDED if self._files.kernel_threads_visible else HIDDEN
            plain = [_Frame(f"0x{address:x}") for address in addresses]
            return (*plain[:-1], _Frame(f"{plain[-1].plain} ({reason})")) if plain else ()
        maps, frames = self._maps[process], []
        for address in addresses:
            mapping = mapping_at(maps, address)
            if mapping is None:
                break  # below code without frame pointers there can be anything
            frames.append(self._frame(tid, mapping, address))
        return tuple(frames)

    def _know(self, tid: int, process: int, addresses: Sequence[int]) -> bool:
        """Whether the maps are known; they are read again where an address does not fit.

        Once each time that stacks are noted: the addresses below code without frame pointers, as
        in most programs of a distribution, fit nowhere.
        """
        known = self._maps.get(process, ())
        fit = known and all(mapping_at(known, address) for address in addresses)
        # In a PID namespace the kernel's numbers are not those of /proc.
        ask = not fit and process not in self._current and self._files.kernel_threads_visible
        if ask and (now := read_maps(tid, self._files)):
            known = self._maps[process] = now
            self._current.add(process)
        return bool(known)

    def _frame(self, tid: int, mapping: Mapping, address: int) -> _Frame:
        if not mapping.path:
            return _Frame(f"0x{address:x} (no file)")
        offset = address - mapping.start + mapping.offset
        plain = f"{mapping.name}+0x{offset:x}"
        number = self._file(tid, mapping) if mapping.inode else -1
        return _Frame(plain, (number, offset)) if number >= 0 else _Frame(plain)

    def _file(self, tid: int, mapping: Mapping) -> int:
        """Number of a mapped file; -1: it cannot be opened."""
        key = mapping.device, mapping.inode
        if key not in self._number and len(self._mapped) < _MOST_FILES:
            fd = open_mapped(tid, mapping, self._files)
            if fd >= 0:
                self._number[key] = len(self._mapped)
                path = path_here(tid, mapping, self._files)
                self._mapped.append(_File(fd, path, mapping.name))
        return self._number.get(key, -1)

    def named(self, patience_s: float = PATIENCE_S) -> UserStacks:
        """The stacks met so far, as Recording.user_stacks has them. See ``problem``. What libdw
        cannot tell in so many seconds stays without a name."""
        frames = [frame for stack in self._stacks.values() for frame in stack]
        wanted: dict[int, list[int]] = {}
        for place in {frame.place for frame in frames if frame.place} - self._asked:
            wanted.setdefault(place[0], []).append(place[1])
            self._asked.add(place)
        if wanted:
            self._ask(wanted, patience_s)
        names = self._names
        return {
            key: tuple(names.get(one.place, one.plain) if one.place else one.plain for one in stack)
            for key, stack in self._stacks.items()
        }

    def _ask(self, wanted: dict[int, list[int]], patience_s: float) -> None:
        """Has libdw name the places."""
        files = [
            {"fd": self._mapped[file].fd, "path": self._mapped[file].path, "offsets": offsets}
            for file, offsets in wanted.items()
        ]
        answers = self._run({"libdw": self.library, "files": files}, patience_s)
        for (file, offsets), told in zip(wanted.items(), answers, strict=False):
            for offset, one in zip(offsets, told, strict=True):
                if one and one[0]:
                    name, source, line = one
                    where = f"{source}:{line}" if source else self._mapped[file].name
                    self._names[file, offset] = f"{name} ({where})"

    def _run(
        self, request: dict[str, object], patience_s: float
    ) -> list[list[list[str | int | None] | None]]:
        """Starts no search on debug servers: the recording would wait for them."""
        surroundings = {key: value for key, value in os.environ.items() if key != _DEBUG_SERVERS}
        try:
            done = subprocess.run(
                [sys.executable, "-I", str(Path(symbolizer.__file__))],
                input=json.dumps(request),
                capture_output=True,
                text=True,
                check=False,
                env=surroundings,
                pass_fds=[one.fd for one in self._mapped],
                timeout=patience_s,
            )
        except (OSError, subprocess.TimeoutExpired):
            self.problem = FAILED
            return []
        if done.returncode:
            self.problem = NO_LIBRARY if done.returncode == symbolizer.NO_LIBRARY else FAILED
            return []
        answers: list[list[list[str | int | None] | None]] = json.loads(done.stdout)
        return answers

    def close(self) -> None:
        """Lets go of the files."""
        for one in self._mapped:
            os.close(one.fd)
        self._mapped.clear()
        self._number.clear()
