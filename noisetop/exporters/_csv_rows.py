"""Rows of CSV, many at a time: cells of one length in a matrix, whose fill is then taken out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from noisetop.exporters._digits import Rows, width_of, write_integers
from noisetop.flat_tables.schema import Batch, Texts, Values, part, row_count

_FILL = 0xFF  # no byte of UTF-8
_SPACE = 0x20
_ROWS = 1 << 13  # so that the rows in work stay in a CPU's cache
_MOST_BYTES = 1 << 25
_BOOLS = [b"false", b"true"]


class _Chosen(NamedTuple):
    """A column whose rows have one of a few cells each."""

    numbers: npt.NDArray[np.int64]
    cells: list[bytes]

    @property
    def width(self) -> int:
        """Bytes of the longest."""
        return max(map(len, self.cells))


class _Integers(NamedTuple):
    """A column of numbers."""

    numbers: npt.NDArray[np.uint64]
    absent: npt.NDArray[np.bool_] | None

    @property
    def width(self) -> int:
        """Bytes of the longest."""
        return width_of(int(self.numbers.max()))


def csv_rows(batch: Batch) -> Iterator[bytes]:
    """The lines of a batch, some at a time; few at a time where names are very long."""
    first, rows = 0, _ROWS
    while first < row_count(batch):
        some = part(batch, slice(first, first + rows))
        columns = list(map(_column, some.values()))
        width = sum(column.width + 1 for column in columns) + 1
        if width * row_count(some) > _MOST_BYTES and rows > 1:
            rows //= 2
            continue
        yield _lines(columns, row_count(some), width)
        first += rows


def _column(values: Values) -> _Chosen | _Integers:
    if isinstance(values, Texts):
        used, numbers = np.unique(values.numbers, return_inverse=True)
        return _Chosen(numbers, [quoted(values.values[number]) for number in used.tolist()])
    if values.dtype == np.bool_:
        return _Chosen(values.astype(np.int64), _BOOLS)
    absent = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    return _Integers(np.ma.filled(values, 0).astype(np.uint64), absent)


def _lines(columns: list[_Chosen | _Integers], count: int, width: int) -> bytes:
    rows = np.empty((count, width), np.uint8)
    offset = 0
    for column in columns:
        size = column.width
        if isinstance(column, _Chosen):
            table = _matrix(column.cells, size)
            rows[:, offset : offset + size] = table.take(column.numbers, axis=0)
        else:
            _write_numbers(rows, offset, size, column)
        offset += size
        rows[:, offset] = ord(",")
        offset += 1
    rows[:, offset - 1 : offset + 1] = np.frombuffer(b"\r\n", np.uint8)
    lines: bytes = rows[rows != _FILL].tobytes()
    return lines


def _write_numbers(rows: Rows, offset: int, width: int, column: _Integers) -> None:
    write_integers(rows, offset, width, column.numbers)
    cells = rows[:, offset : offset + width]
    cells[cells == _SPACE] = _FILL
    if column.absent is not None:
        cells[column.absent] = _FILL


def _matrix(cells: list[bytes], width: int) -> Rows:
    filled = b"".join(cell.ljust(width, bytes([_FILL])) for cell in cells)
    return np.frombuffer(filled, np.uint8).reshape(len(cells), width)


def quoted(text: str) -> bytes:
    """A text as a cell; what is in it does not change."""
    return b'"' + text.replace('"', '""').encode() + b'"'
