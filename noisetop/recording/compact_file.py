"""The compact recording file: tables of interruptions, packed column by column.

Line 1 is the magic, line 2 what about_as_dict() says and the names of the columns, as one JSON
object. Then blocks follow, each a line with its kind, number of rows and number of bytes, and those
bytes: ``rows`` holds the columns of one table, ``names`` at the end what names_as_dict() says.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np

from noisetop.errors import NoisetopError
from noisetop.events.interruption import INTERRUPTION, Interruptions
from noisetop.events.origin import Origin
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
    head = {**about_as_dict(recording), "columns": _COLUMNS}
    out.write(MAGIC + json.dumps(head).encode() + b"\n")
    for chunk in recording.all_chunks():
        for first in range(0, len(chunk), _ROWS):
            rows = chunk[first : first + _ROWS]
            _write_block(out, b"rows", len(rows), _pack(rows))
    names = zlib.compress(json.dumps(names_as_dict(recording)).encode(), _LEVEL)
    _write_block(out, b"names", 0, names)


def _write_block(out: BinaryIO, kind: bytes, rows: int, content: bytes) -> None:
    out.write(b"%s %d %d\n" % (kind, rows, len(content)) + content)


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
    """The recording in a file. Raises NoisetopError when it is damaged."""
    try:
        with path.open("rb") as file:
            about = about_from_dict(_read_head(file))
            names = names_from_dict(_read_names(file))
    except OSError as error:
        raise NoisetopError(f"cannot read {path}: {error.strerror}") from None
    except _DAMAGE as error:
        raise _damaged(path, error) from None
    return recording_of(
        about, names, lambda: _chunks(path, len(names.sources), len(names.triggers))
    )


_DAMAGE = (KeyError, TypeError, ValueError, AttributeError, RecursionError, zlib.error)


def _damaged(path: Path, error: Exception) -> NoisetopError:
    reason = str(error) or type(error).__name__
    return NoisetopError(f"{path} is damaged ({reason:.60}): export it again")


def _read_head(file: IO[bytes]) -> dict[str, Any]:
    if file.readline(len(MAGIC)) != MAGIC:
        raise ValueError("bad header")
    return dict(json.loads(file.readline(_MAX_LINE_BYTES)))


def _blocks(file: IO[bytes]) -> Iterator[tuple[bytes, int, int]]:
    """Kind, rows and bytes of each block; the file stands at its content."""
    while line := file.readline(64):
        kind, rows, size = line.split()
        following = file.tell() + int(size)
        if int(size) < 0:
            raise ValueError("a block of an impossible size")
        yield kind, int(rows), int(size)
        file.seek(following)


def _read_names(file: IO[bytes]) -> dict[str, Any]:
    for kind, _, size in _blocks(file):
        if kind == b"names":
            unpacker = zlib.decompressobj()
            text = unpacker.decompress(file.read(size), _MAX_NAMES_BYTES)
            if not unpacker.eof:
                raise ValueError("it was cut short")
            return dict(json.loads(text))
    raise ValueError("it was cut short")


def _columns_of(head: dict[str, Any]) -> tuple[str, ...]:
    columns = tuple(map(str, head.get("columns", _COLUMNS_BEFORE)))
    if columns not in (_COLUMNS, _WITHOUT_ORIGIN, _COLUMNS_BEFORE):
        raise ValueError("a later noisetop wrote it")
    return columns


def _chunks(path: Path, sources: int, triggers: int) -> Iterator[Interruptions]:
    try:
        with path.open("rb") as file:
            columns = _columns_of(_read_head(file))
            for kind, count, size in _blocks(file):
                if kind == b"rows":
                    rows = _unpack(file.read(size), count, columns)
                    if (rows["source"] >= sources).any() or (rows["trigger"] >= triggers).any():
                        raise ValueError("a source or a trigger without a name")
                    if (rows["origin"] >= len(Origin)).any():
                        raise ValueError("an origin that is none")
                    yield rows
    except OSError as error:
        raise NoisetopError(f"cannot read {path}: {error.strerror}") from None
    except _DAMAGE as error:
        raise _damaged(path, error) from None
