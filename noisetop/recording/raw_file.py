"""The recording file: a text head, then blocks as bpf/noise.h describes them.

Line 1 is the magic, line 2 one JSON object with the layout of everything that follows, padded with
spaces so that the blocks begin at a multiple of 8. The first block holds the checksum of these two.
The drain thread appends blocks of events (event_block.py) and of losses; a last JSON block says how
it ended. A file without that one was cut short and is read up to its last whole block.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from noisetop._tables import crc32c
from noisetop.checked_json import parse_json
from noisetop.counters.cpu_counters import counts_by_cpu, read_cpu_counters
from noisetop.counters.left_out import LEFT_OUT
from noisetop.counters.period import PeriodCounters, counters_cut_short, counters_from_file
from noisetop.counters.section import Section, Value
from noisetop.errors import NoisetopError
from noisetop.events.decoder import Batch, RecordReader
from noisetop.events.interruption import Interruptions
from noisetop.events.layout import Events, Layout
from noisetop.events.source_names import Names
from noisetop.events.symbols import SymbolTable
from noisetop.events.task_directory import DETAILS, Details, TaskDirectory
from noisetop.events.trigger import UserStacks
from noisetop.events.victim_time import ANY_TASK
from noisetop.input import InputBytes, open_input
from noisetop.recording.block_file import CUT_SHORT, BlockFile, BlockReader
from noisetop.recording.damage import damage_told
from noisetop.recording.event_block import EVENT_BLOCKS, MOST_BYTES, Block, events_of
from noisetop.recording.metadata_json import user_stacks_as_dict, user_stacks_from_dict
from noisetop.recording.occurring_symbols import OccurringSymbols
from noisetop.recording.prefetch import read_ahead
from noisetop.recording.recording import Recording, checked_cpus, checked_period
from noisetop.recording.thread_accounts import ThreadAccounts

MAGIC = b"noisetop recording 3\n"
MAGICS = (MAGIC, b"noisetop recording 1\n")
"""All of one length. Before the first one no records were packed."""
_FIRST_HEAD_BYTES = 1 << 16
_MAX_HEAD_BYTES = 64 << 20
_CHUNK_BYTES = 8 << 20
_HEAD_CHECKSUM = "head_crc32c"
Choice = Callable[[Layout, Events], Events]
"""Chooses among records."""


class NothingRecordedError(NoisetopError):
    """A recording breaks off before its first event."""


class StackReader(Protocol):
    """Places user stacks; a noisetop.tracing.user_stacks.UserStackWatch."""

    def note(self, names: npt.NDArray[np.void], triggers: npt.NDArray[np.void]) -> None:
        """Takes records of ``struct noise_task_name`` and ``struct noise_trigger``."""


class ProcessReader(Protocol):
    """Looks up who tasks are; a noisetop.tracing.process_watch.ProcessWatch."""

    def note(self, names: npt.NDArray[np.void]) -> None:
        """Takes records of ``struct noise_task_name``."""

    def news(self) -> dict[str, Any]:
        """What is new since the last call, as noisetop.events.task_directory.Details.add() takes
        it; empty where nothing is."""


class SpoolWriter:
    """Writes what the drain thread does not: the head, the symbols and the last block.

    ``file``: the tracer while it runs, as the descriptor has one writer.
    """

    def __init__(self, layout: Layout, file: BlockFile) -> None:
        self._layout = layout
        self._file = file
        self._names: Names | None = None
        self._occurring = OccurringSymbols(layout)
        self._processes: ProcessReader | None = None
        self._user_stacks: StackReader | None = None

    def write_head(
        self,
        metadata: dict[str, Any],
        names: Names,
        cpus: tuple[int, ...],
        processes: ProcessReader | None = None,
        user_stacks: StackReader | None = None,
    ) -> None:
        """Everything that must be known to read the file after a crash. ``processes`` is told the
        names in what is written later, and its news are written as well; ``user_stacks`` is told
        these and the triggers."""
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
        whole = MAGIC + line + b"\n"
        self._file.write_head(whole)
        self._append_json({_HEAD_CHECKSUM: crc32c(whole)})
        self._names, self._processes, self._user_stacks = names, processes, user_stacks

    def write_names(self) -> None:
        """Writes the names of the functions that occur for the first time in what was written since
        the last call, and who the tasks in it are. A file cut short keeps the names that it got so
        far.

        Raises OSError when the file cannot be read or takes no more.
        """
        if self._names is None:
            return
        addresses: list[int] = []
        for events in self._file.news():
            addresses += self._occurring.new_addresses(events)
            self._note_processes(events)
        if symbols := self._names.symbols().subset(addresses) if addresses else SymbolTable():
            self._append("SYMBOLS", _padded(symbols.pack()))
        if news := self._processes.news() if self._processes else {}:
            self._append_json(news)

    def _note_processes(self, events: Events) -> None:
        told = self._layout.task_name
        if self._processes is None or told is None:
            return
        flags = self._layout.flags
        names = events[events["flags"] & flags["NAME"] != 0].view(told)
        self._processes.note(names)
        if self._user_stacks is not None:
            triggers = events[events["flags"] & flags["TRIGGER"] != 0]
            self._user_stacks.note(names, triggers.view(self._layout.trigger))

    def write_end(
        self,
        end_ns: int,
        counters: PeriodCounters,
        ended: str,
        stacks: dict[int, tuple[str, ...]] | None = None,
        user_stacks: UserStacks | None = None,
    ) -> None:
        """Marks the recording as whole, once the names that are not written yet are."""
        self.write_names()
        told = user_stacks_as_dict(user_stacks or {})
        end = {"end_ns": end_ns, "stacks": stacks or {}, "user_stacks": told, "ended": ended}
        self._append_json(counters.to_file() | end)

    def _append_json(self, content: dict[str, Any]) -> None:
        self._append("JSON", json_payload(content))

    def _append(self, kind: str, payload: bytes) -> None:
        self._file.append(self._layout.block_kinds[kind], payload)


def figures_block(layout: Layout, section: Section[Any, Value], value: Value) -> tuple[int, bytes]:
    """What is appended to a recording when a side figure becomes another one, such as CPUs that are
    offline; kind and payload. It replaces the one before."""
    return layout.block_kinds["JSON"], json_payload(section.to_file(value))


def json_payload(content: dict[str, Any]) -> bytes:
    """The payload of a JSON block."""
    return _padded(json.dumps(content).encode(), b" ")


def _padded(payload: bytes, fill: bytes = b"\0") -> bytes:
    return payload + fill * (-len(payload) % 8)


@dataclass(slots=True)
class _Blocks:
    """Where the blocks of a file lie, and what the small ones say."""

    events: list[Block] = field(default_factory=list)
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


def read_spool(path: Path, wanted: Choice | None = None) -> Recording:
    """The recording in a file. ``wanted`` chooses the records that chunks() is made of; None: all.

    Raises NoisetopError when it is not ours or breaks off before its first event.
    """
    with _damage_told(path), open_input(path, "a recording") as file:
        return _parse(path, InputBytes(file), wanted)


def _damage_told(path: Path) -> AbstractContextManager[None]:
    return damage_told(path, "is damaged", "record it again")


def _parse(path: Path, content: InputBytes, wanted: Choice | None) -> Recording:
    head, offset, checksum = _read_head(path, content)
    layout = _layout_of(head)
    blocks = _scan(content, offset, layout, bool(head.get("symbols_complete", True)))
    if not blocks.start_ns and not blocks.events:
        raise _nothing_recorded(path)
    names = Names(
        softirqs=tuple(map(str, head["softirqs"])),
        irq_actions={
            int(irq): tuple(map(str, names)) for irq, names in head["irq_actions"].items()
        },
        symbols=lambda: blocks.symbols,
        reduced=LEFT_OUT.from_file(dict(head["metadata"])).reduced,
    )
    own_pid = int(head["metadata"].get("own_pid", 0))
    reader = RecordReader(layout, names, own_pid=own_pid)
    said = blocks.said
    cpus = checked_cpus(head["cpus"])
    follows = dict(head["metadata"]).get("victims", ANY_TASK) != ANY_TASK
    end_ns = int(said.get("end_ns") or _last_end_ns(content, blocks, layout))
    checked_period(blocks.start_ns, end_ns)

    def chunks(*, accounts: bool = True) -> Iterator[Interruptions]:
        reader.accounts = accounts
        pieces = _events(content, blocks, layout)
        if wanted is not None:
            pieces = (wanted(layout, events) for events in pieces)
        reader.restart(blocks.start_ns, follows=follows)
        return _chunks(path, pieces, reader, end_ns)

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
        user_stacks=user_stacks_from_dict(said.get("user_stacks", {})),
        victim_stacks=reader.join.victim_stacks,
        read_chunks=chunks,
        accounts=ThreadAccounts(reader, follows, partial(chunks, accounts=False)),
        counters=_counters_of(dict(head["metadata"]) | said, blocks, layout, cpus),
        tasks=reader.tasks,
        victims=reader.victims.told,
        ended=str(said.get("ended", "")),
        damage=_damage_of(blocks, checksum),
    )


def _layout_of(head: dict[str, Any]) -> Layout:
    layout = Layout(head["layout"])
    for kind in layout.kinds.values():
        texts = kind.name, kind.noise_class, kind.identity, kind.trigger_of
        if not all(isinstance(text, str) for text in texts) or not kind.noise_class:
            raise ValueError("a source without a name")
    return layout


def _nothing_recorded(path: Path) -> NoisetopError:
    return NothingRecordedError(f"{path} breaks off before its first event: record it again")


def _damage_of(blocks: _Blocks, head_checksum: int) -> str:
    words = [blocks.damage]
    if blocks.said.get(_HEAD_CHECKSUM, head_checksum) != head_checksum:
        words.append("its head is damaged")
    if "end_ns" not in blocks.said and CUT_SHORT not in blocks.damage:
        words.append(CUT_SHORT)
    return ", ".join(filter(None, words))


def _read_head(path: Path, content: InputBytes) -> tuple[dict[str, Any], int, int]:
    """What it says, where it ends in bytes, and its checksum."""
    size, end = _FIRST_HEAD_BYTES, -1
    while end < 0 and size <= _MAX_HEAD_BYTES:
        start = bytes(content.at(0, size))
        end = start.find(b"\n", len(MAGIC))
        size *= 4
    if not any(start.startswith(magic) or magic.startswith(start) for magic in MAGICS):
        raise NoisetopError(f"{path} is not a noisetop recording")
    if end < 0:
        raise _nothing_recorded(path)
    head = parse_json(start[len(MAGIC) : end])
    if not isinstance(head, dict):
        raise ValueError("its head is no object")
    return head, end + 1, crc32c(start[: end + 1])


def _scan(content: InputBytes, offset: int, layout: Layout, symbols_complete: bool) -> _Blocks:
    blocks = _Blocks(symbols_complete=symbols_complete)
    kinds = {value: name for name, value in layout.block_kinds.items()}
    found = BlockReader(content, offset, layout)
    for block in found:
        kind = kinds.get(block.kind, "")
        if kind in EVENT_BLOCKS:
            blocks.events.append(block)
        elif kind:
            _take(kind, _payload(content, block), layout, blocks)
    blocks.damage = found.damage()
    return blocks


def _payload(content: InputBytes, block: Block) -> bytes:
    if block.size > MOST_BYTES:
        raise ValueError(f"a block of {block.size} bytes")
    return bytes(content.at(block.offset, block.size))


def _take(kind: str, payload: bytes, layout: Layout, blocks: _Blocks) -> None:
    """Notes one block; kinds of a later version are passed over."""
    if kind == "COUNTERS":
        blocks.cpu_counters = read_cpu_counters(payload, layout)
    elif kind == "START":
        blocks.start_ns = int.from_bytes(payload[:8], "little")
    elif kind == "JSON":
        content = parse_json(payload)
        blocks.details.add({key: content.pop(key) for key in DETAILS if key in content})
        blocks.said.update(content)
    elif kind == "SYMBOLS":
        table = SymbolTable.unpack(payload)
        blocks.symbols = blocks.symbols.joined(table, complete=blocks.symbols_complete)


def _events(content: InputBytes, blocks: _Blocks, layout: Layout) -> Iterator[Events]:
    """In pieces of bounded size. Raises ValueError where the file became shorter."""
    most = max(_CHUNK_BYTES // layout.event.itemsize, 1)
    for block in blocks.events:
        yield from events_of(content, block, layout, most)


def _last_end_ns(content: InputBytes, blocks: _Blocks, layout: Layout) -> int:
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
    path: Path, pieces: Iterable[Events], reader: RecordReader, end_ns: int
) -> Iterator[Interruptions]:
    for batch in read_ahead(_batches(path, pieces, reader)):
        with _damage_told(path):
            table = reader.join_triggers(batch)
        yield table
    reader.victims.close(end_ns)


def _batches(path: Path, pieces: Iterable[Events], reader: RecordReader) -> Iterator[Batch]:
    with _damage_told(path):
        pending: list[Events] = []
        size = 0
        for events in pieces:
            pending.append(events)
            size += events.nbytes
            if size >= _CHUNK_BYTES:
                yield reader.take(*pending, last=False)
                pending, size = [], 0
        yield reader.take(*pending, last=True)
