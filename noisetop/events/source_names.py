"""From kernel records to interruptions: which source each one belongs to, and what it is called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from noisetop.events.interruption import (
    INTERRUPTION,
    OTHER,
    SIDE_LEVEL,
    UNATTRIBUTED,
    Flag,
    Interruptions,
    Source,
    task_name,
)
from noisetop.events.layout import Events, Layout, SourceKind
from noisetop.events.symbols import SymbolTable
from noisetop.events.task_names import PF_KTHREAD, started_ns
from noisetop.tables.dictionary import Column, DictionaryEncoder
from noisetop.tables.rows import as_dict

_COPIED = ("start_ns", "gross_ns", "net_ns", "victim_tid", "tid", "cpu")
_LOW_BITS = np.uint64(0x0101010101010101)
_HIGH_BITS = np.uint64(0x8080808080808080)
_TID_MASK = 0xFFFFFFFF
_COLUMNS = 7
"""That the path of an event depends on."""
_NUMBER, _COMM, _TASK = 1, 2, 4
OWN = "own"
"""Second step of the path of noisetop's own threads."""
_RESERVED = ("throttled", "self", OWN, OTHER, UNATTRIBUTED.path[1])
"""Second steps of paths that are no names of tasks."""
_OWN = 1 << 7
"""Among the flags that a path depends on."""
_TOLD = np.uint8(Flag.THREADED | Flag.SELF)
"""Flags that a path depends on."""
_THREADED, _SELF = int(Flag.THREADED), int(Flag.SELF)
"""An enum takes long where there are many."""
_YOUNG_NS = 1_000_000_000
"""A task that is younger need not stay."""
_TRAITS = {"none": 0, "irq": _NUMBER | _COMM, "task": _COMM | _TASK}
"""Whether an identity's number counts, whether its comm does, and whether that is a task: then the
number counts only where it is the idle one. All others: the number."""


@dataclass(slots=True)
class Names:
    """Where numbers in events get their names from; ``symbols`` is only called when needed."""

    softirqs: tuple[str, ...]
    irq_actions: dict[int, tuple[str, ...]]
    symbols: Callable[[], SymbolTable]
    reduced: frozenset[str] = frozenset()
    """How the tracer was reduced, in the words of counters.left_out: what was left out explains
    nothing."""


@dataclass(slots=True)
class Namer:
    """Turns kernel records into interruptions and keeps the list of the sources met so far."""

    layout: Layout
    names: Names
    most_names: int | None = None
    """How many names of tasks that are not the kernel's are told apart until forget() is called, an
    eighth of them of tasks that have just begun; None: all."""
    sources: list[Source] = field(default_factory=list)
    _index: dict[Source, int] = field(default_factory=dict)
    _encoder: DictionaryEncoder = field(default_factory=lambda: DictionaryEncoder(_COLUMNS))
    _own: set[int] = field(default_factory=set)
    """Threads of the noisetop that traced."""
    _began_ns: dict[int, int] = field(default_factory=dict)
    """By tid of tasks that are not the kernel's, where names are bounded."""
    _kernel: set[int] = field(default_factory=set)
    """Tids of the kernel's threads, likewise."""
    _named: list[int] = field(default_factory=lambda: [0, 0])
    """Names of tasks that are told apart by now: of young ones and of all others."""
    _traits: npt.NDArray[np.uint8] = field(init=False)
    """By kind: what its path depends on."""

    def __post_init__(self) -> None:
        if self.layout.slept_new is not None:
            self.number_of(UNATTRIBUTED)  # beforehand: what is read ahead names others meanwhile
        self._traits = np.zeros(256, np.uint8)
        for number, kind in self.layout.kinds.items():
            self._traits[number] = _TRAITS.get(kind.identity, _NUMBER)

    def note_own(self, names: npt.NDArray[np.void], own_pid: int) -> None:
        """Learns from records of ``struct noise_task_name`` which threads are those of a process,
        and how old tasks are; numbers are given to other tasks later."""
        if self.most_names is not None:
            self._note_ages(names)
        mine = names["tgid"] == own_pid
        if self._own:
            self._own.difference_update(names["tid"][~mine].tolist())
        if own_pid:
            self._own.update(names["tid"][mine].tolist())

    def _note_ages(self, names: npt.NDArray[np.void]) -> None:
        is_kernel = names["task_flags"] & PF_KTHREAD != 0
        self._kernel.difference_update(names["tid"][~is_kernel].tolist())
        self._kernel.update(names["tid"][is_kernel].tolist())
        self._began_ns |= zip(names["tid"].tolist(), started_ns(names), strict=True)

    def interruptions(self, events: Events) -> Interruptions:
        """The same intervals with their sources resolved, in the same order, without triggers.
        Raises ValueError where they are none: in a damaged file."""
        table = np.zeros(len(events), INTERRUPTION)
        for name in _COPIED:
            table[name] = events[name]
        # Columns of their own: NumPy looks at a byte of a row as long as at eight.
        levels, flags = (events[name].copy() for name in ("level", "flags"))
        if mark := self.layout.entry_mark:
            flags |= (levels & np.uint8(mark) != 0) * np.uint8(Flag.ENTRY)
            levels &= np.uint8(0xFF ^ mark)
        if (levels > SIDE_LEVEL).any():
            raise ValueError("a level that is none")
        table["level"], table["flags"] = levels, flags
        table["source"] = self._encoder.numbers(
            self._columns(events),
            lambda row: self.number_of(self._source_of(as_dict(events[row]))),
        )
        return table

    def add_functions(
        self, table: Interruptions, rows: npt.NDArray[np.int64], functions: npt.NDArray[np.uint64]
    ) -> None:
        """Gives rows of a table a last step: the function that each ran."""
        pairs, places = np.unique(
            np.stack([table["source"][rows].astype(np.uint64), functions]),
            axis=1,
            return_inverse=True,
        )
        numbers = [
            self.number_of(Source((*self.sources[source].path, self.function_name(function))))
            for source, function in pairs.T.tolist()
        ]
        if numbers:
            table["source"][rows] = np.array(numbers)[places.reshape(-1)]

    @property
    def name_count(self) -> int:
        """What is remembered since forget() was called."""
        return max(len(self._encoder), len(self._began_ns))

    def forget(self) -> None:
        """Begins with a new list of sources; tables made from now on index that one."""
        self.sources, self._index = [], {}
        self._began_ns.clear()
        self._named = [0, 0]
        self._encoder = DictionaryEncoder(_COLUMNS)
        if self.layout.slept_new is not None:
            self.number_of(UNATTRIBUTED)

    def number_of(self, source: Source) -> int:
        """Its place in the list, at the end where it is new."""
        if source not in self._index:
            self._index[source] = len(self.sources)
            self.sources.append(source)
        return self._index[source]

    def _columns(self, events: Events) -> list[Column]:
        """All that the path of an event depends on."""
        sources, numbers = np.ascontiguousarray(events["source"]), events["id"]
        flags = np.ascontiguousarray(events["flags"]) & _TOLD
        traits = self._traits.take(sources)
        words = np.zeros((len(events), 2), np.uint64)
        told = np.flatnonzero((traits & _COMM != 0) | Flag.THREADED.among(flags))
        words[told] = _comm_words(events["comm"][told])
        counting = numbers * (traits & _NUMBER != 0)
        tasks = np.flatnonzero(traits & _TASK)
        counting[tasks] = numbers[tasks] & _TID_MASK == 0
        tids = numbers[tasks] & _TID_MASK
        for own in self._own:  # they are few, for which np.isin() takes long
            flags[tasks[tids == own]] |= np.uint8(_OWN)
        parents = events["parent_source"], events["parent_id"]
        return [sources, *parents, flags, counting, words[:, 0], words[:, 1]]

    def _source_of(self, event: Mapping[str, Any]) -> Source:
        kind = self.layout.kinds[event["source"]]
        comm = task_name(event["comm"])
        threaded = bool(event["flags"] & _THREADED)
        if kind.identity == "task":
            return self._thread(event, comm)
        steps = self._steps(kind, event["id"], comm)
        parent = self.layout.kinds[event["parent_source"]]
        if parent is not kind:
            around = self._steps(parent, event["parent_id"], "")
            steps = (parent.noise_class, *around[1:], steps[-1])
        if threaded:
            ran = steps[-1:] if kind.noise_class == "thread" else steps[1:]
            steps = ("thread", comm, *ran)
        return Source(steps)

    def _thread(self, event: Mapping[str, Any], comm: str) -> Source:
        """The idle task takes a CPU from a victim only when that may not run: it has used up its
        CPU quota, that of its control group or that of real-time tasks."""
        tid = event["id"] & _TID_MASK
        if not tid:
            return Source(("thread", "throttled"))
        if comm in _RESERVED:
            comm = f'"{comm}"'
        if event["flags"] & _SELF:
            return self._bounded(Source(("thread", "self", comm)), event)
        if tid in self._own:
            return Source(("thread", OWN, comm))
        return self._bounded(Source(("thread", comm)), event)

    def _bounded(self, source: Source, event: Mapping[str, Any]) -> Source:
        """A task goes by ``other`` once too many names are known; sooner where it has just begun,
        so that a storm of short ones does not hide what stays."""
        tid = event["id"] & _TID_MASK
        if self.most_names is None or source in self._index or tid in self._kernel:
            return source
        is_old = event["start_ns"] - self._began_ns.get(tid, 0) >= _YOUNG_NS
        if self._named[is_old] >= (self.most_names if is_old else self.most_names // 8):
            return source.other
        self._named[is_old] += 1
        return source

    def _steps(self, kind: SourceKind, number: int, comm: str) -> tuple[str, ...]:
        """Path of something on its own, without what was around it."""
        if kind.identity == "irq":
            return (kind.noise_class, f"{number} {self._action_name(number, comm)}".strip())
        if kind.identity == "softirq":
            known = number < len(self.names.softirqs)
            return (kind.noise_class, self.names.softirqs[number] if known else str(number))
        if kind.identity == "function":
            function = self.function_name(number)
            own = () if kind.name == kind.noise_class else (kind.name,)
            return (kind.noise_class, *own, function)
        if kind.identity == "mhz":
            return (kind.noise_class, kind.name, f"{number} MHz")
        return (kind.noise_class, kind.name)

    def function_name(self, address: int) -> str:
        """Name of the kernel function at an address."""
        return self.names.symbols().name(address)

    def _action_name(self, number: int, comm: str) -> str:
        """The action's full name; the event carries its first 15 bytes."""
        actions = self.names.irq_actions.get(number, ())
        matching = [name for name in actions if name.startswith(comm)]
        return matching[0] if len(matching) == 1 or (matching and not comm) else comm


def _comm_words(comm: npt.NDArray[np.bytes_]) -> npt.NDArray[np.uint64]:
    """Task names as two integers each; NumPy pads what follows the first NUL with zeros only on
    output, so stale bytes behind it are cut off here."""
    words = np.ascontiguousarray(comm).view("<u8").reshape(-1, comm.dtype.itemsize // 8)
    # The lowest byte that is zero has the lowest of these bits set.
    zeros = (words - _LOW_BITS) & ~words & _HIGH_BITS
    lowest = zeros & (~zeros + np.uint64(1))
    kept: npt.NDArray[np.uint64] = words & ((lowest >> np.uint64(7)) - np.uint64(1))
    kept[:, 1] *= zeros[:, 0] == 0
    return kept
