"""Reads back what noisetop.exporters.chrome_trace wrote: the same interruptions, to the nanosecond.

A line begins with a text that many slices share, so each text is read once. The numbers that differ
stand in columns at the end of the line, so all lines can be cut at the same places as long as the
text between the numbers is the same. What another program has changed is refused rather than
guessed at.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from noisetop.errors import NoisetopError
from noisetop.events.interruption import INTERRUPTION, Interruptions
from noisetop.events.origin import Origin
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
_MAX_LINE_BYTES = 16 << 20
_READ_BYTES = 8 << 20
_MAX_LAYOUTS = 64
_CELLS = re.compile(rb'"(\w+)":( *)(\d+(?:\.\d{3})?)(?=[,}])')
_IDS = re.compile(rb'"ids":\[(\d+(?:,\d+)*)\],$')
_ID_COLUMNS = ("source", "victim_tid", "tid", "level", "flags", "trigger", "origin")
_KNOWN_TEXTS = 1 << 16
_TABLE_COLUMNS = {"net_ns": "net_ns", "trigger_ns": "trigger_ns", "pid": "cpu"}
_NAMES = [*_TABLE_COLUMNS, "tid", "ts", "dur"]

Rows = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.uint64]


def read_trace(path: Path) -> Recording:
    """The recording in a trace, compressed or not.

    Raises NoisetopError when noisetop did not write it, or it was cut short or changed since.
    """
    with _errors(path), _open(path) as file:
        head = _read_head(file)
        names = names_from_dict(_read_tail(file))
        about = about_from_dict(head)
    return recording_of(
        about, names, lambda: _chunks(path, about.start_ns, len(names.sources), len(names.triggers))
    )


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    """Turns all that a damaged file can cause into one line."""
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise NoisetopError(f"{path} does not unpack ({error}): export it again") from None
    except OSError as error:
        raise NoisetopError(f"cannot read {path}: {error.strerror}") from None
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        reason = str(error) or type(error).__name__
        raise NoisetopError(
            f"{path} is not as noisetop wrote it ({reason:.60}): export it again"
        ) from None


@contextmanager
def _open(path: Path) -> Iterator[IO[bytes]]:
    with path.open("rb") as file:
        packed = file.read(len(GZIP_START)) == GZIP_START
        file.seek(0)
        if not packed:
            yield file
            return
        with gzip.open(file) as unpacked:
            yield unpacked  # type: ignore[misc]  # a GzipFile reads like any file


def _read_head(file: IO[bytes]) -> dict[str, Any]:
    if file.readline(len(_LINE_1)) != _LINE_1:
        raise ValueError("bad header")
    line = file.readline(_MAX_LINE_BYTES)
    if not line.startswith(_LINE_2) or not line.endswith(b",\n"):
        raise ValueError("the header is incomplete")
    head = json.loads(line[len(_LINE_2) : -2])
    if head["format"] != FORMAT:
        raise ValueError("another version of noisetop wrote it")
    file.readline(_MAX_LINE_BYTES)
    return dict(head)


def _read_tail(file: IO[bytes]) -> dict[str, Any]:
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
    return dict(json.loads(end[at + len(_TAIL) : -2]))


def _chunks(path: Path, start_ns: int, sources: int, triggers: int) -> Iterator[Interruptions]:
    texts = _Texts()
    with _errors(path), _open(path) as file:
        _read_head(file)
        for lines in _lines(file):
            slices = [line for line in lines if line.startswith(_SLICE)]
            if slices:
                for table in _tables(slices, start_ns, texts):
                    if (table["source"] >= sources).any() or (table["trigger"] >= triggers).any():
                        raise ValueError("a source or a trigger without a name")
                    yield table


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
    if len(ids) != len(_ID_COLUMNS) or ids[-1] >= len(Origin):
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
