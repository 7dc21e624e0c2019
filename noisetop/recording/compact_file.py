"""The compact recording file: tables of interruptions, packed column by column.

Line 1 is the magic, line 2 what about_as_dict() says and the names of the columns, as one JSON
object. Then blocks follow, each a line with its kind, number of rows and number of bytes, and those
bytes: ``rows`` holds the columns of one table, ``names`` what names_as_dict() says, and ``check``
at the end the number of rows and the checksum of all before it. Files up to version 0.2 lack that.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np

from noisetop._tables import crc32c
from noisetop.checked_json import parse_json
from noisetop.events.interruption import INTERRUPTION, SIDE_LEVEL, Interruptions
from noisetop.events.origin import Origin
from noisetop.input import open_input
from noisetop.recording.damage import damage_told
from noisetop.recording.metadata_json import (
    about_as_dict,
    about_from_dict,
    names_as_dict,
    names_from_dict,
    recording_of,
)
from noisetop.recording.recording import Recording

MAGIC = b"noisetop compact recording 1\n"
_ROWS = 1 << 16
_MAX_LINE_BYTES = 16 << 20
_MAX_NAMES_BYTES = 1 << 28
_LEVEL = 6
_COLUMNS = INTERRUPTION.names or ()
_WITHOUT_ORIGIN = _COLUMNS[: _COLUMNS.index("origin")]
"""Of files that were written before there were origins."""
_COLUMNS_BEFORE = _COLUMNS[: _COLUMNS.index("trigger")]
"""Of files that do not tell: those written before there were triggers."""
_NEVER = np.uint64(1 << 63)
"""How long before its interruption a trigger acted of which that is not known."""


def write_compact(recording: Recording, out: BinaryIO) -> None:
    """Writes the whole recording; read_compact() gives it back, to the nanosecond."""
    head = {**about_as_dict(recording), "columns": _COLUMNS, "checked": True}
    blocks = _Writer(out)
    blocks.write(MAGIC + json.dumps(head).encode() + b"\n")
    for chunk in recording.all_chunks():
        for first in range(0, len(chunk), _ROWS):
            rows = chunk[first : first + _ROWS]
            blocks.add(b"rows", len(rows), _pack(rows))
    names = json.dumps(names_as_dict(recording)).encode()
    blocks.add(b"names", 0, zlib.compress(names, _LEVEL))
    blocks.add(b"check", 0, json.dumps({"rows": blocks.rows, "crc32c": blocks.checksum}).encode())


@dataclass(slots=True)
class _Writer:
    """Counts the rows and sums up all bytes."""

    out: BinaryIO
    rows: int = 0
    checksum: int = 0

    def write(self, content: bytes) -> None:
        self.checksum = crc32c(content, self.checksum)
        self.out.write(content)

    def add(self, kind: bytes, rows: int, content: bytes) -> None:
        self.rows += rows
        self.write(b"%s %d %d\n" % (kind, rows, len(content)) + content)


def _pack(rows: Interruptions) -> bytes:
    """Columns one after another, each byte of its numbers apart; moments as differences."""
    planes = []
    for name in _COLUMNS:
        column = np.ascontiguousarray(rows[name])
        if name == "start_ns":
            column = np.diff(column, prepend=np.uint64(0))
        elif name == "trigger_ns":
            column = np.where(column, rows["start_ns"] - column, _NEVER)
        planes.append(column.view(np.uint8).reshape(len(rows), -1).T.tobytes())
    return zlib.compress(b"".join(planes), _LEVEL)


def _unpack(content: bytes, count: int, columns: Sequence[str]) -> Interruptions:
    if not 0 < count <= _ROWS:
        raise ValueError("a table of an impossible size")
    size = count * sum(INTERRUPTION[name].itemsize for name in columns)
    unpacker = zlib.decompressobj()
    planes = np.frombuffer(unpacker.decompress(content, size), np.uint8)
    if len(planes) != size or not unpacker.eof:
        raise ValueError("a table of another size than it says")
    rows = np.zeros(count, INTERRUPTION)
    offset = 0
    for name in columns:
        kind = INTERRUPTION[name]
        part = planes[offset : offset + count * kind.itemsize].reshape(kind.itemsize, count)
        column = np.ascontiguousarray(part.T).view(kind)[:, 0]
        if name == "start_ns":
            column = np.cumsum(column, dtype=np.uint64)
        elif name == "trigger_ns":
            column = np.where(column == _NEVER, np.uint64(0), rows["start_ns"] - column)
        rows[name] = column
        offset += count * kind.itemsize
    return rows


def read_compact(path: Path) -> Recording:
    """The recording in a file. Raises NoisetopError when it is damaged, at the latest when its
    last chunk was read."""
    with _damage_told(path), open_input(path, "a recording") as file:
        reader = _Reader(file)
        about = about_from_dict(reader.head)
        names = names_from_dict(_read_names(reader))
    return recording_of(
        about, names, lambda: _chunks(path, len(names.sources), len(names.triggers))
    )


def _damage_told(path: Path) -> AbstractContextManager[None]:
    return damage_told(path, "is damaged", "export it again")


class _Reader:
    """The blocks of an open file; sums up what is read."""

    def __init__(self, file: IO[bytes]) -> None:
        """Reads the head. Raises ValueError."""
        self._file = file
        self._checksum = 0
        if self._summed(file.readline(len(MAGIC))) != MAGIC:
            raise ValueError("bad header")
        self.head = dict(parse_json(self._summed(file.readline(_MAX_LINE_BYTES))))
        self._size = os.fstat(file.fileno()).st_size

    def blocks(self) -> Iterator[tuple[bytes, int, int]]:
        """Kind, rows and bytes of each block. Its content is skipped unless content() reads it."""
        while line := self._file.readline(64):
            kind, rows, size = line.split()
            following = self._file.tell() + int(size)
            if not self._file.tell() <= following <= self._size:
                raise ValueError("it was cut short")
            if kind != b"check":
                self._summed(line)
            yield kind, int(rows), int(size)
            self._file.seek(following)

    def content(self, size: int) -> bytes:
        """Of the block that blocks() gave last."""
        return self._summed(self._file.read(size))

    def check(self, size: int, rows: int) -> None:
        """Compares the last block with what was read. Raises ValueError."""
        expected = dict(parse_json(self._file.read(size)))
        if expected != {"rows": rows, "crc32c": self._checksum}:
            raise ValueError("its checksum does not fit")

    def _summed(self, content: bytes) -> bytes:
        self._checksum = crc32c(content, self._checksum)
        return content


def _read_names(reader: _Reader) -> dict[str, Any]:
    names, last = None, b""
    for last, _, size in reader.blocks():
        if last == b"names":
            unpacker = zlib.decompressobj()
            text = unpacker.decompress(reader.content(size), _MAX_NAMES_BYTES)
            if not unpacker.eof:
                raise ValueError("it was cut short")
            names = dict(parse_json(text))
    if names is None or (reader.head.get("checked") and last != b"check"):
        raise ValueError("it was cut short")
    return names


def _columns_of(head: dict[str, Any]) -> tuple[str, ...]:
    columns = tuple(map(str, head.get("columns", _COLUMNS_BEFORE)))
    if columns not in (_COLUMNS, _WITHOUT_ORIGIN, _COLUMNS_BEFORE):
        raise ValueError("a later noisetop wrote it")
    return columns


def _chunks(path: Path, sources: int, triggers: int) -> Iterator[Interruptions]:
    with _damage_told(path), open_input(path, "a recording") as file:
        reader = _Reader(file)
        columns, read = _columns_of(reader.head), 0
        for kind, count, size in reader.blocks():
            if kind == b"check":
                reader.check(size, read)
                return
            content = reader.content(size)
            if kind == b"rows":
                rows = _unpack(content, count, columns)
                if (rows["source"] >= sources).any() or (rows["trigger"] >= triggers).any():
                    raise ValueError("a source or a trigger without a name")
                if (rows["origin"] >= len(Origin)).any() or (rows["level"] > SIDE_LEVEL).any():
                    raise ValueError("an origin or a level that is none")
                read += count
                yield rows
