"""What a flat table is: columns with type, unit and meaning, and batches of their values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from noisetop.recording.recording import Recording

SCHEMA_VERSION = 1
"""Goes up when a column is renamed, removed or changes its meaning. A new column comes last, and
leaves it as it is."""

TEXT, BOOL = "text", "bool"
"""Types of a column beside those of NumPy's unsigned integers."""


class Texts(NamedTuple):
    """Values of a text column: each row has the number of one of a few texts."""

    numbers: npt.NDArray[np.int64]
    values: list[str]


Values = npt.NDArray[np.generic] | Texts
"""Values of a column in a batch. A masked array has no value where its mask is set."""
Batch = dict[str, Values]
"""Values of all columns of a table, by name and in the order of the columns, of equal length."""
Cell = int | bool | str | None


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table."""

    name: str
    """The unit is its end, where it has one: ``net_ns``."""
    type: str
    """``uint8`` to ``uint64``, TEXT or BOOL."""
    meaning: str
    nullable: bool = False
    """Whether rows may have no value."""


@dataclass(frozen=True, slots=True)
class FlatTable:
    """A table that a recording can be written as."""

    name: str
    meaning: str
    """What a row is."""
    columns: tuple[Column, ...]
    batches: Callable[[Recording], Iterator[Batch]]
    """Reads the recording once and gives its rows, some at a time; none where there are none."""


def batch_of(columns: Sequence[Column], rows: Iterable[Sequence[Cell]]) -> Iterator[Batch]:
    """Rows of a small table as one batch, or as none. None stands for no value."""
    cells = list(zip(*rows, strict=True))
    if cells:
        yield {
            column.name: _values(column, values)
            for column, values in zip(columns, cells, strict=True)
        }


def _values(column: Column, cells: Sequence[Cell]) -> Values:
    if column.type == TEXT:
        return texts(str(cell) for cell in cells)
    numbers = np.array([cell or 0 for cell in cells], column.type)
    if not column.nullable:
        return numbers
    return np.ma.MaskedArray(numbers, [cell is None for cell in cells])


def texts(cells: Iterable[str]) -> Texts:
    """One text per row."""
    known: dict[str, int] = {}
    numbers = [known.setdefault(cell, len(known)) for cell in map(storable, cells)]
    return Texts(np.array(numbers, np.int64), list(known))


def storable(text: str) -> str:
    """The same text; only what is no character of Unicode, which a damaged file may hold, becomes a
    question mark."""
    return text.encode(errors="replace").decode()


def row_count(batch: Batch) -> int:
    """Rows of a batch."""
    first = next(iter(batch.values()))
    return len(first.numbers if isinstance(first, Texts) else first)


def part(batch: Batch, rows: slice) -> Batch:
    """Some rows of a batch."""
    return {
        name: Texts(values.numbers[rows], values.values)
        if isinstance(values, Texts)
        else values[rows]
        for name, values in batch.items()
    }
