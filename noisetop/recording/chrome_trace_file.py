"""Reads back what noisetop.exporters.chrome_trace wrote: the same interruptions, to the nanosecond.

A line begins with a text that many slices share, so each text is read once. The numbers that differ
stand in columns at the end of the line, so all lines can be cut at the same places as long as the
text between the numbers is the same. What another program has changed is refused rather than
guessed at.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from noisetop._tables import crc32c
from noisetop.checked_json import parse_json
from noisetop.errors import NoisetopError
from noisetop.events.interruption import INTERRUPTION, SIDE_LEVEL, Interruptions
from noisetop.events.origin import Origin
from noisetop.input import open_input
from noisetop.recording.damage import damage_told
from noisetop.recording.metadata_json import about_from_dict, names_from_dict, recording_of
from noisetop.recording.recording import Recording

START = b'{"displayTimeUnit":"ns",\n"otherData":{"writer":"noisetop '
GZIP_START = b"\x1f\x8b"
FORMAT = 3
"""Raised when the reader of one format cannot read the other."""

_LINE_1 = b'{"displayTimeUnit":"ns",\n'
_LINE_2 = b'"otherData":'
_SLICE = b',{"ph":"X",'
_COLUMNS = b'"net_ns":'
_TAIL = b'\n],\n"noisetop":'
_SEAL = re.compile(rb'\{"checked":\[(\d{1,10}),(\d{1,10}),(\d{1,10})\],')
_UNFIT = "its checksum does not fit"
_MAX_LINE_BYTES = 16 << 20
_READ_BYTES = 8 << 20
_MAX_LAYOUTS = 64
_CELLS = re.compile(rb'"(\w+)":( *)(\d+(?:\.\d{3})?)(?=[,}])')
_IDS = re.compile(rb'"ids":\[(\d+(?:,\d+)*)\],$')
_ID_COLUMNS = ("source", "victim_tid", "tid", "level", "flags", "trigger", "origin")
_LEVEL = _ID_COLUMNS.index("level")
_KNOWN_TEXTS = 1 << 16
_TABLE_COLUMNS = {"net_ns": "net_ns", "trigger_ns": "trigger_ns", "pid": "cpu"}
_NAMES = [*_TABLE_COLUMNS, "tid", "ts", "dur"]

Rows = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.uint64]


def read_trace(path: Path) -> Recording:
    """The recording in a trace, compressed or not.

    Raises NoisetopError when noisetop did not write it, or it was cut short or changed since; at
    the latest when its last chunk was read.
    """
    with _errors(path), _open(path) as file:
        head, _ = _read_head(file)
        content, seal = _read_tail(file)
        names = names_from_dict(content)
        about = about_from_dict(head)
    sizes = len(names.sources), len(names.triggers)
    return recording_of(about, names, lambda: _chunks(path, about.start_ns, seal, *sizes))


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    """Turns all that a damaged file can cause into one line."""
    with damage_told(path, "is not as noisetop wrote it", "export it again"):
        try:
            yield
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise NoisetopError(f"{path} does not unpack ({error}): export it again") from None


@contextmanager
def _open(path: Path) -> Iterator[IO[bytes]]:
    with open_input(path, "a recording") as file:
        packed = file.read(len(GZIP_START)) == GZIP_START
        file.seek(0)
        if not packed:
            yield file
            return
        with gzip.open(file) as unpacked:
            yield unpacked  # type: ignore[misc]  # a GzipFile reads like any file


def _read_head(file: IO[bytes]) -> tuple[dict[str, Any], int]:
    """What it says, and its checksum."""
    if file.readline(len(_LINE_1)) != _LINE_1:
        raise ValueError("bad header")
    line = file.readline(_MAX_LINE_BYTES)
    if not line.startswith(_LINE_2) or not line.endswith(b",\n"):
        raise ValueError("the header is incomplete")
    head = parse_json(line[len(_LINE_2) : -2])
    if head["format"] != FORMAT:
        raise ValueError("another version of noisetop wrote it")
    file.readline(_MAX_LINE_BYTES)
    return dict(head), crc32c(line)


class Seal(NamedTuple):
    """Closes a trace; those up to version 0.2 have none."""

    slices: int
    """How many."""
    slices_crc: int
    """Checksum of the second line and the slices."""
    names_crc: int
    """Checksum of what follows the events."""


def _read_tail(file: IO[bytes]) -> tuple[dict[str, Any], Seal | None]:
    """What follows the events. Of a compressed file everything is unpacked for it."""
    if not isinstance(file, gzip.GzipFile):
        file.seek(max(file.seek(0, 2) - _MAX_LINE_BYTES, 0))
        end = file.read()
    else:
        end, more = b"", file.read(_READ_BYTES)
        while more:
            end = (end + more)[-_MAX_LINE_BYTES:]
            more = file.read(_READ_BYTES)
    at = end.rfind(_TAIL)
    if at < 0 or not end.endswith(b"}\n"):
        raise ValueError("it was cut short")
    text, seal = end[at + len(_TAIL) : -2], None
    if found := _SEAL.match(text):
        text, seal = b"{" + text[found.end() :], Seal(*map(int, found.groups()))
        if crc32c(text) != seal.names_crc:
            raise ValueError(_UNFIT)
    return dict(parse_json(text)), seal


def tail(names: bytes, slices: int, slices_crc: int) -> bytes:
    """The last line of a trace. ``names``: a JSON object that is not empty."""
    seal = Seal(slices, slices_crc, crc32c(names))
    return _TAIL[1:] + b'{"checked":[%d,%d,%d],' % seal + names[1:] + b"}\n"


def _chunks(
    path: Path, start_ns: int, seal: Seal | None, sources: int, triggers: int
) -> Iterator[Interruptions]:
    texts, count = _Texts(), 0
    with _errors(path), _open(path) as file:
        _, crc = _read_head(file)
        for lines in _lines(file):
            slices = [line for line in lines if line.startswith(_SLICE)]
            if not slices:
                continue
            count += len(slices)
            crc = crc32c(b"\n".join([*slices, b""]), crc)
            for table in _tables(slices, start_ns, texts):
                if (table["source"] >= sources).any() or (table["trigger"] >= triggers).any():
                    raise ValueError("a source or a trigger without a name")
                yield table
        if seal and (seal.slices, seal.slices_crc) != (count, crc):
            raise ValueError(_UNFIT)


@dataclass(slots=True)
class _Texts:
    """The numbers in the texts that lines begin with, by text."""

    _known: dict[bytes, int] = field(default_factory=dict)
    _ids: list[list[int]] = field(default_factory=list)

    def fill(self, table: Interruptions, texts: list[bytes]) -> None:
        """Puts the numbers of each text into its row. Raises ValueError."""
        if len(self._known) > _KNOWN_TEXTS:
            self._known, self._ids = {}, []
        for text in set(texts).difference(self._known):
            self._known[text] = len(self._ids)
            self._ids.append(_ids_of(text))
        rows = np.array(list(map(self._known.__getitem__, texts)))
        for name, numbers in zip(_ID_COLUMNS, np.array(self._ids, np.uint64).T, strict=True):
            table[name] = numbers[rows]


def _ids_of(text: bytes) -> list[int]:
    found = _IDS.search(text)
    ids = [int(number) for number in found[1].split(b",")] if found else []
    if len(ids) == len(_ID_COLUMNS) - 1:  # written before there were origins
        ids.append(Origin.UNATTRIBUTED)
    if len(ids) != len(_ID_COLUMNS) or ids[-1] >= len(Origin) or ids[_LEVEL] > SIDE_LEVEL:
        raise ValueError("a slice lacks its numbers")
    for name, number in zip(_ID_COLUMNS, ids, strict=True):
        if number > np.iinfo(INTERRUPTION[name]).max:
            raise ValueError(f"{name} is too large")
    return ids


def _lines(file: IO[bytes]) -> Iterator[list[bytes]]:
    rest = b""
    while more := file.read(_READ_BYTES):
        *lines, rest = (rest + more).split(b"\n")
        if len(rest) > _MAX_LINE_BYTES:
            raise ValueError("a line without an end")
        yield lines


def _tables(lines: list[bytes], start_ns: int, texts: _Texts) -> Iterator[Interruptions]:
    """Tables of runs of lines that have the same layout."""
    for _ in range(_MAX_LAYOUTS):
        layout = lines[0][lines[0].find(_COLUMNS) :]
        size = len(layout)
        tails = b"".join([line[-size:] for line in lines])
        if len(tails) != size * len(lines):
            tails = b"".join([line[-size:].rjust(size) for line in lines])
        rows = np.frombuffer(tails, np.uint8).reshape(-1, size)
        columns, same = _cells(layout, rows)
        count = len(rows) if same.all() else int(np.argmin(same))
        if not count:
            break
        table = _table(rows[:count], columns, start_ns)
        texts.fill(table, [line[:-size] for line in lines[:count]])
        yield table
        lines = lines[count:]
        if not lines:
            return
    raise ValueError("its lines differ")


def _cells(layout: bytes, rows: Rows) -> tuple[dict[str, slice], npt.NDArray[np.bool_]]:
    """Where the numbers stand, and which rows have the same text around them."""
    columns: dict[str, slice] = {}
    fixed = np.full(len(layout), 0xFF, np.uint8)
    for cell in _CELLS.finditer(layout):
        columns[cell[1].decode()] = slice(cell.start(2), cell.end(3))
        fixed[cell.start(2) : cell.end(3)] = 0
        if b"." in cell[3]:
            fixed[cell.end(3) - 4] = 0xFF
    if list(columns) != _NAMES:
        raise ValueError("a slice lacks a number")
    template = np.frombuffer(layout, np.uint8)
    same: npt.NDArray[np.bool_] = np.logical_not(((rows ^ template) & fixed).any(axis=1))
    return columns, same


def _table(rows: Rows, columns: dict[str, slice], start_ns: int) -> Interruptions:
    table = np.empty(len(rows), INTERRUPTION)
    for name, target in _TABLE_COLUMNS.items():
        numbers = _integers(rows[:, columns[name]])
        if numbers.max() > np.iinfo(INTERRUPTION[target]).max:
            raise ValueError(f"{name} is too large")
        table[target] = numbers
    table["start_ns"] = _nanoseconds(rows[:, columns["ts"]]) + np.uint64(start_ns)
    table["gross_ns"] = _nanoseconds(rows[:, columns["dur"]])
    return table


def _nanoseconds(cells: Rows) -> Numbers:
    """Of microseconds with three decimals."""
    return _integers(cells[:, :-4]) * np.uint64(1000) + _integers(cells[:, -3:])


def _integers(cells: Rows) -> Numbers:
    numbers = np.zeros(len(cells), np.uint64)
    begun = np.zeros(len(cells), bool)
    for place in range(cells.shape[1]):
        digit = cells[:, place] - np.uint8(ord("0"))
        is_digit = digit <= 9
        if (begun & ~is_digit).any() or (~is_digit & (cells[:, place] != ord(" "))).any():
            raise ValueError("invalid number")
        begun |= is_digit
        numbers *= np.uint64(10)
        numbers += np.where(is_digit, digit, 0).astype(np.uint64)
    if not begun.all():
        raise ValueError("a number is missing")
    return numbers
