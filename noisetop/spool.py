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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from noisetop.absence import Absence, absences_as_list, absences_from_list
from noisetop.errors import NoisetopError
from noisetop.event import Events, Flag, Interruptions, Layout
from noisetop.naming import Names
from noisetop.read_ahead import read_ahead
from noisetop.reading import Batch, RecordReader
from noisetop.recording import Recording
from noisetop.recording_json import losses_from_dict, own_cost_from_dict, tick_stops_from_dict
from noisetop.sanitize import printable
from noisetop.summary import Losses, OwnCost
from noisetop.symbols import SymbolTable
from noisetop.tick import TickStops

MAGIC = b"noisetop recording 1\n"
SUFFIX = ".noisetop"
_LATE = ("hardware", "hardware_missing")
"""What belongs to the metadata but is known only at the end."""
_MAX_HEAD_BYTES = 64 << 20
_CHUNK_BYTES = 8 << 20
_MAX_REASON = 80


class SpoolWriter:
    """Writes what the drain thread does not: the head, the symbols and the last block.

    The drain thread writes through ``fd`` between open_books() and close_books(), this class only
    before and after.
    """

    def __init__(self, fd: int, layout: Layout) -> None:
        self.fd = fd
        self._layout = layout

    def write_head(self, metadata: dict[str, Any], names: Names, cpus: tuple[int, ...]) -> None:
        """Everything that must be known to read the file after a crash."""
        head = {
            "layout": self._layout.description,
            "metadata": metadata,
            "cpus": cpus,
            "softirqs": names.softirqs,
            "irq_actions": {str(irq): actions for irq, actions in names.irq_actions.items()},
        }
        line = json.dumps(head).encode()
        line += b" " * (-(len(MAGIC) + len(line) + 1) % 8)
        _write_all(self.fd, MAGIC + line + b"\n")
        self._write_block("SYMBOLS", _padded(names.symbols().pack()))

    def write_end(
        self,
        end_ns: int,
        losses: Losses,
        own_cost: OwnCost,
        missing: tuple[str, ...],
        ended: str,
        stacks: dict[int, tuple[str, ...]] | None = None,
        hardware: list[dict[str, Any]] | None = None,
        absences: tuple[Absence, ...] = (),
        hardware_missing: tuple[str, ...] = (),
        tick_stops: Mapping[int, TickStops] | None = None,
    ) -> None:
        """Marks the recording as whole."""
        self._write_json(
            {
                "end_ns": end_ns,
                "losses": asdict(losses),
                "own_cost": asdict(own_cost),
                "missing": missing,
                "stacks": stacks or {},
                "hardware": hardware or [],
                "absences": absences_as_list(absences),
                "hardware_missing": hardware_missing,
                "tick_stops": tick_stops or {},
                "ended": ended,
            }
        )

    def _write_json(self, content: dict[str, Any]) -> None:
        _write_all(self.fd, _json_block(self._layout, content))

    def _write_block(self, kind: str, payload: bytes) -> None:
        _write_all(self.fd, _block(self._layout, kind, payload))


def absences_block(layout: Layout, absences: tuple[Absence, ...]) -> bytes:
    """What is appended to a recording when a CPU goes or comes; it takes the place of the last."""
    return _json_block(layout, {"absences": absences_as_list(absences)})


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
    symbols: SymbolTable | None = None
    losses: dict[int, dict[str, int]] = field(default_factory=dict)
    tick_stops: dict[int, TickStops] = field(default_factory=dict)
    said: dict[str, Any] = field(default_factory=dict)
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
    blocks = _scan(content, offset, layout)
    names = Names(
        softirqs=tuple(map(str, head["softirqs"])),
        irq_actions={int(irq): tuple(names) for irq, names in head["irq_actions"].items()},
        symbols=lambda: blocks.symbols or SymbolTable(),
    )
    reader = RecordReader(layout, names)
    said = blocks.said
    cpus = tuple(map(int, head["cpus"]))
    end_ns = int(said.get("end_ns") or _last_end_ns(content, blocks, layout))
    if end_ns < blocks.start_ns:
        raise ValueError("it ends before it starts")
    return Recording(
        metadata=dict(head["metadata"]) | {key: said[key] for key in _LATE if said.get(key)},
        cpus=cpus,
        start_ns=blocks.start_ns,
        end_ns=end_ns,
        sources=reader.namer.sources,
        triggers=reader.join.triggers,
        waits=reader.waits,
        stacks=_stacks_of(said),
        read_chunks=lambda: _chunks(path, content, blocks, reader),
        losses=losses_from_dict(said.get("losses") or {"by_cpu": blocks.losses}),
        own_cost=own_cost_from_dict(said.get("own_cost", {})),
        absences=absences_from_list(said.get("absences", ())),
        missing=tuple(map(str, said.get("missing", head["metadata"].get("missing", ())))),
        tick_stops=_tick_stops_of(said, blocks, cpus),
        tasks=reader.tasks,
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


def _scan(content: mmap.mmap, offset: int, layout: Layout) -> _Blocks:
    blocks = _Blocks()
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
    elif kind == "BOOKS":
        rows = read_books(memoryview(content)[offset : offset + length], layout)
        blocks.losses = losses_by_cpu(rows, layout)
        blocks.tick_stops = tick_stops_by_cpu(rows, layout)
    elif kind == "START":
        blocks.start_ns = int.from_bytes(content[offset : offset + 8], "little")
    elif kind == "JSON":
        blocks.said.update(json.loads(content[offset : offset + length]))
    elif kind == "SYMBOLS":
        blocks.symbols = SymbolTable.unpack(content[offset : offset + length])


def read_books(content: bytes | memoryview, layout: Layout) -> npt.NDArray[np.void]:
    """An array of ``struct noise_books``; what follows the last whole one is left out."""
    dtype = layout.dtype("noise_books")
    return np.frombuffer(content, dtype, len(content) // dtype.itemsize)


def losses_by_cpu(books: npt.NDArray[np.void], layout: Layout) -> dict[int, dict[str, int]]:
    """Counts per CPU and reason of an array of ``struct noise_books``."""
    return {
        int(row["cpu"]): dict(zip(layout.loss_reasons, map(int, row["losses"]), strict=False))
        for row in books
    }


def tick_stops_by_cpu(books: npt.NDArray[np.void], layout: Layout) -> dict[int, TickStops]:
    """Attempts to stop the tick per CPU, of the same."""
    return {
        int(row["cpu"]): dict(zip(layout.tick_reasons, map(int, row["ticks"]), strict=False))
        for row in books
    }


def _events(content: mmap.mmap, blocks: _Blocks, layout: Layout) -> Iterator[Events]:
    for offset, count in blocks.events:
        yield np.frombuffer(content, layout.event, count, offset)


def _last_end_ns(content: mmap.mmap, blocks: _Blocks, layout: Layout) -> int:
    """Of a recording that was cut short: when its last interruption ended."""
    last_ns = blocks.start_ns
    for events in _events(content, blocks, layout):
        intervals = events["flags"] & (Flag.TRIGGER | Flag.NAME) == 0
        ends = events["start_ns"][intervals] + events["gross_ns"][intervals]
        last_ns = max(last_ns, int(ends.max(initial=0)))
    return last_ns


def _tick_stops_of(
    said: dict[str, Any], blocks: _Blocks, cpus: tuple[int, ...]
) -> dict[int, TickStops]:
    if "tick_stops" in said:
        return tick_stops_from_dict(said["tick_stops"])
    return {cpu: stops for cpu, stops in blocks.tick_stops.items() if cpu in cpus}


def _stacks_of(said: dict[str, Any]) -> dict[int, tuple[str, ...]]:
    stacks = said.get("stacks", {})
    return {int(key): tuple(map(str, names)) for key, names in stacks.items()}


def _chunks(
    path: Path, content: mmap.mmap, blocks: _Blocks, reader: RecordReader
) -> Iterator[Interruptions]:
    reader.restart()
    for batch in read_ahead(_batches(path, content, blocks, reader)):
        with _damage_told(path):
            table = reader.join_triggers(batch)
        yield table


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
