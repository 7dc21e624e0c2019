"""The recording file: a text head, then blocks as bpf/noise.h describes them.

Line 1 is the magic, line 2 one JSON object with the layout of everything that follows, padded with
spaces so that the blocks begin at a multiple of 8. The drain thread appends blocks of events and of
losses; a last JSON block says how it ended. A file without that one was cut short and is read up
to its last whole block.
"""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from noisetop.counters.cpu_counters import counts_by_cpu, read_cpu_counters
from noisetop.counters.offline_cpus import OFFLINE, OfflineInterval
from noisetop.counters.period import PeriodCounters, counters_cut_short, counters_from_file
from noisetop.errors import NoisetopError
from noisetop.events.decoder import Batch, RecordReader
from noisetop.events.interruption import Interruptions
from noisetop.events.layout import Events, Layout
from noisetop.events.source_names import Names
from noisetop.events.symbols import SymbolTable
from noisetop.events.task_directory import DETAILS, Details, TaskDirectory
from noisetop.events.victim_time import ANY_TASK
from noisetop.recording.growing_events import GrowingEvents
from noisetop.recording.occurring_symbols import OccurringSymbols
from noisetop.recording.prefetch import read_ahead
from noisetop.recording.recording import Recording
from noisetop.text.sanitize import printable

MAGIC = b"noisetop recording 1\n"
_MAX_HEAD_BYTES = 64 << 20
_CHUNK_BYTES = 8 << 20
_MAX_REASON = 80


class ProcessReader(Protocol):
    """Looks up who tasks are; a noisetop.tracing.process_watch.ProcessWatch."""

    def note(self, names: npt.NDArray[np.void]) -> None:
        """Takes records of ``struct noise_task_name``."""

    def news(self) -> dict[str, Any]:
        """What is new since the last call, as noisetop.events.task_directory.Details.add() takes
        it; empty where nothing is."""


class SpoolWriter:
    """Writes what the drain thread does not: the head, the symbols and the last block.

    ``fd`` is open for reading. ``append`` writes to its file and raises OSError: while a tracer
    runs that is Tracer.append(), as the descriptor has one writer, the native module; None: this
    class writes, as nobody else does.
    """

    def __init__(
        self, fd: int, layout: Layout, append: Callable[[bytes], None] | None = None
    ) -> None:
        self.fd = fd
        self._layout = layout
        self._append = append or partial(_write_all, fd)
        self._names: Names | None = None
        self._occurring = OccurringSymbols(layout)
        self._events: GrowingEvents | None = None
        self._processes: ProcessReader | None = None

    def write_head(
        self,
        metadata: dict[str, Any],
        names: Names,
        cpus: tuple[int, ...],
        processes: ProcessReader | None = None,
    ) -> None:
        """Everything that must be known to read the file after a crash. ``processes`` is told the
        names in what is written later, and its news are written as well."""
        head = {
            "layout": self._layout.description,
            "metadata": metadata,
            "cpus": cpus,
            "softirqs": names.softirqs,
            "irq_actions": {str(irq): actions for irq, actions in names.irq_actions.items()},
            "symbols_complete": False,
        }
        line = json.dumps(head).encode()
        line += b" " * (-(len(MAGIC) + len(line) + 1) % 8)
        self._append(MAGIC + line + b"\n")
        self._names, self._processes = names, processes
        self._events = GrowingEvents(self.fd, self._layout, len(MAGIC) + len(line) + 1)

    def names_blocks(self) -> bytes:
        """Names of the functions that occur for the first time in what was written since the last
        call, and who the tasks in it are; empty where nothing is new. A file cut short keeps the
        names that it got so far.

        Raises OSError when the file cannot be read.
        """
        if self._names is None or self._events is None:
            return b""
        addresses: list[int] = []
        for events in self._events.new():
            addresses += self._occurring.new_addresses(events)
            self._note_processes(events)
        symbols = self._names.symbols().subset(addresses) if addresses else SymbolTable()
        blocks = _block(self._layout, "SYMBOLS", _padded(symbols.pack())) if symbols else b""
        news = self._processes.news() if self._processes else {}
        return blocks + (_json_block(self._layout, news) if news else b"")

    def _note_processes(self, events: Events) -> None:
        told = self._layout.task_name
        if self._processes is not None and told is not None:
            names = events["flags"] & self._layout.flags["NAME"] != 0
            self._processes.note(events[names].view(told))

    def write_end(
        self,
        end_ns: int,
        counters: PeriodCounters,
        ended: str,
        stacks: dict[int, tuple[str, ...]] | None = None,
    ) -> None:
        """Marks the recording as whole, once the names that are not written yet are."""
        if names := self.names_blocks():
            self._append(names)
        end = {"end_ns": end_ns, "stacks": stacks or {}, "ended": ended}
        self._append(_json_block(self._layout, counters.to_file() | end))


def offline_block(layout: Layout, intervals: tuple[OfflineInterval, ...]) -> bytes:
    """What is appended to a recording when a CPU goes or comes; it replaces the one before."""
    return _json_block(layout, OFFLINE.to_file(intervals))


def _json_block(layout: Layout, content: dict[str, Any]) -> bytes:
    return _block(layout, "JSON", _padded(json.dumps(content).encode(), b" "))


def _block(layout: Layout, kind: str, payload: bytes) -> bytes:
    block = np.zeros(1, layout.block)
    block["magic"] = layout.block_magic
    block["kind"] = layout.block_kinds[kind]
    block["bytes"] = len(payload)
    return block.tobytes() + payload


def _padded(payload: bytes, fill: bytes = b"\0") -> bytes:
    return payload + fill * (-len(payload) % 8)


def _write_all(fd: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(fd, view) :]


@dataclass(slots=True)
class _Blocks:
    """Where the blocks of a file lie, and what the small ones say."""

    events: list[tuple[int, int]] = field(default_factory=list)
    """Offset and number of events."""
    symbols: SymbolTable = field(default_factory=SymbolTable)
    symbols_complete: bool = True
    """Whether the only table is all of kallsyms, as in files up to 0.1; else tables add up."""
    cpu_counters: npt.NDArray[np.void] | None = None
    """The last ones of all CPUs."""
    said: dict[str, Any] = field(default_factory=dict)
    details: Details = field(default_factory=Details)
    """Who the processes are."""
    start_ns: int = 0
    damage: str = ""


def read_spool(path: Path) -> Recording:
    """The recording in a file.

    Raises NoisetopError when it is not ours or breaks off before its first event.
    """
    try:
        with path.open("rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is empty"
        raise NoisetopError(f"cannot read {path}: {reason}") from None
    with _damage_told(path):
        return _parse(path, content)


@contextmanager
def _damage_told(path: Path) -> Iterator[None]:
    """Turns all that wrong bytes can cause into one line."""
    try:
        yield
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        reason = printable(f"{type(error).__name__}: {error}"[:_MAX_REASON])
        raise NoisetopError(f"{path} is damaged ({reason}): record it again") from None


def _parse(path: Path, content: mmap.mmap) -> Recording:
    head, offset = _read_head(path, content)
    layout = Layout(head["layout"])
    blocks = _scan(content, offset, layout, bool(head.get("symbols_complete", True)))
    names = Names(
        softirqs=tuple(map(str, head["softirqs"])),
        irq_actions={int(irq): tuple(names) for irq, names in head["irq_actions"].items()},
        symbols=lambda: blocks.symbols,
    )
    own_pid = int(head["metadata"].get("own_pid", 0))
    reader = RecordReader(layout, names, own_pid=own_pid)
    said = blocks.said
    cpus = tuple(map(int, head["cpus"]))
    follows = dict(head["metadata"]).get("victims", ANY_TASK) != ANY_TASK
    end_ns = int(said.get("end_ns") or _last_end_ns(content, blocks, layout))
    if end_ns < blocks.start_ns:
        raise ValueError("it ends before it starts")
    return Recording(
        metadata=dict(head["metadata"]),
        directory=TaskDirectory(reader.tasks, reader.task_names.infos, blocks.details),
        cpus=cpus,
        start_ns=blocks.start_ns,
        end_ns=end_ns,
        sources=reader.namer.sources,
        triggers=reader.join.triggers,
        waits=reader.waits,
        stacks=_stacks_of(said),
        read_chunks=lambda: _chunks(path, content, blocks, reader, end_ns, follows),
        counters=_counters_of(dict(head["metadata"]) | said, blocks, layout, cpus),
        tasks=reader.tasks,
        victims=reader.victims.told,
        ended=str(said.get("ended", "")),
        damage=blocks.damage or ("" if "end_ns" in said else "it was cut short"),
    )


def _read_head(path: Path, content: mmap.mmap) -> tuple[dict[str, Any], int]:
    if content[: len(MAGIC)] != MAGIC:
        raise NoisetopError(f"{path} is not a noisetop recording")
    end = content.find(b"\n", len(MAGIC), len(MAGIC) + _MAX_HEAD_BYTES)
    if end < 0:
        raise NoisetopError(f"{path} breaks off before its first event: record it again")
    head = json.loads(content[len(MAGIC) : end])
    if not isinstance(head, dict):
        raise ValueError("its head is no object")
    return head, end + 1


def _scan(content: mmap.mmap, offset: int, layout: Layout, symbols_complete: bool) -> _Blocks:
    blocks = _Blocks(symbols_complete=symbols_complete)
    kinds = {value: name for name, value in layout.block_kinds.items()}
    size = layout.block.itemsize
    while offset < len(content):
        if offset + size > len(content):
            blocks.damage = "it was cut short"
            break
        block = np.frombuffer(content, layout.block, 1, offset)[0]
        length = int(block["bytes"])
        if int(block["magic"]) != layout.block_magic or length % 8:
            raise ValueError(f"no block at byte {offset}")
        offset += size
        if offset + length > len(content):
            blocks.damage = "it was cut short"
            break
        _take(kinds.get(int(block["kind"]), ""), content, offset, length, layout, blocks)
        offset += length
    return blocks


def _take(
    kind: str, content: mmap.mmap, offset: int, length: int, layout: Layout, blocks: _Blocks
) -> None:
    """Notes one block; kinds of a later version are passed over."""
    if kind == "EVENTS":
        blocks.events.append((offset, length // layout.event.itemsize))
    elif kind == "COUNTERS":
        blocks.cpu_counters = read_cpu_counters(content[offset : offset + length], layout)
    elif kind == "START":
        blocks.start_ns = int.from_bytes(content[offset : offset + 8], "little")
    elif kind == "JSON":
        said = json.loads(content[offset : offset + length])
        blocks.details.add({key: said.pop(key) for key in DETAILS if key in said})
        blocks.said.update(said)
    elif kind == "SYMBOLS":
        table = SymbolTable.unpack(content[offset : offset + length])
        blocks.symbols = blocks.symbols.joined(table, complete=blocks.symbols_complete)


def _events(content: mmap.mmap, blocks: _Blocks, layout: Layout) -> Iterator[Events]:
    for offset, count in blocks.events:
        yield np.frombuffer(content, layout.event, count, offset)


def _last_end_ns(content: mmap.mmap, blocks: _Blocks, layout: Layout) -> int:
    """Of a recording that was cut short: when its last interruption ended."""
    last_ns = blocks.start_ns
    for events in _events(content, blocks, layout):
        intervals = events["flags"] & (layout.flags["TRIGGER"] | layout.flags["NAME"]) == 0
        ends = events["start_ns"][intervals] + events["gross_ns"][intervals]
        last_ns = max(last_ns, int(ends.max(initial=0)))
    return last_ns


def _counters_of(
    said: dict[str, Any], blocks: _Blocks, layout: Layout, cpus: tuple[int, ...]
) -> PeriodCounters:
    if "end_ns" in said:
        return counters_from_file(said)

    def counted(field: str, enum: str) -> dict[int, dict[str, int]]:
        if blocks.cpu_counters is None:
            return {}
        return counts_by_cpu(blocks.cpu_counters, layout, field, enum)

    return counters_cut_short(said, counted, cpus)


def _stacks_of(said: dict[str, Any]) -> dict[int, tuple[str, ...]]:
    stacks = said.get("stacks", {})
    return {int(key): tuple(map(str, names)) for key, names in stacks.items()}


def _chunks(
    path: Path,
    content: mmap.mmap,
    blocks: _Blocks,
    reader: RecordReader,
    end_ns: int,
    follows: bool,
) -> Iterator[Interruptions]:
    reader.restart(blocks.start_ns, follows=follows)
    for batch in read_ahead(_batches(path, content, blocks, reader)):
        with _damage_told(path):
            table = reader.join_triggers(batch)
        yield table
    reader.victims.close(end_ns)


def _batches(
    path: Path, content: mmap.mmap, blocks: _Blocks, reader: RecordReader
) -> Iterator[Batch]:
    event = reader.layout.event
    pending: list[Events] = []
    size = 0
    for place, (offset, count) in enumerate(blocks.events, 1):
        pending.append(np.frombuffer(content, event, count, offset))
        size += count * event.itemsize
        last = place == len(blocks.events)
        if size >= _CHUNK_BYTES or last:
            with _damage_told(path):
                batch = reader.take(*pending, last=last)
            yield batch
            pending, size = [], 0
            # What was read counts as our memory as long as it stays mapped.
            content.madvise(mmap.MADV_DONTNEED)
