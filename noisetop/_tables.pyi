"""Passes over all rows of a table, without the GIL.

A column that is no integer array, or of another length than the rest, raises ValueError, and a
missing buffer BufferError or TypeError. Output arrays are written in place, must be contiguous, and
are not kept.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

_Column = npt.NDArray[np.integer[Any]]
"""One-dimensional, of 1, 2, 4 or 8 bytes; any stride, alignment not needed. Not kept."""

class Groups:
    """Numbers combinations of integers in the order in which they first occur, from 0 on.

    Grows with each new combination and forgets none. For one thread at a time: ValueError where two
    meet.
    """

    def __init__(self, width: int) -> None:
        """width: integers of a combination, 1 to 8, else ValueError."""

    def numbers(self, columns: Sequence[_Column], out: npt.NDArray[np.uint32], /) -> list[int]:
        """Writes the number of each row's combination to ``out`` and returns the rows, in their
        order, where a new one first occurs. columns: ``width`` of them, of the length of ``out``.
        Raises ValueError, and MemoryError."""

class AsOfJoin:
    """Rows found again by key and moment: the last row with that key up to that moment.

    ``len()``: how many rows it holds. Rows older than the newest by more than ``recent_ns`` are
    dropped now and then, but for the last two of each key, of which at most ``remembered`` are kept
    in all. For one thread at a time: ValueError where two meet.
    """

    def __init__(self, row_bytes: int, recent_ns: int, remembered: int) -> None:
        """row_bytes: size of a row, at least 1, else ValueError."""

    def __len__(self) -> int: ...
    def add(self, keys_and_times: tuple[_Column, _Column], rows: npt.NDArray[Any], /) -> None:
        """Adds a copy of ``rows``: ``row_bytes`` for each key, contiguous. Times are in ns, in any
        order. Raises ValueError where there is not a row for each key, and MemoryError."""

    def find(
        self, keys_and_moments: tuple[_Column, _Column], once: bool, out: npt.NDArray[Any], /
    ) -> bytes:
        """Writes the row found for each key to ``out``, ``row_bytes`` each, and leaves the places
        of the others as they are. Returns a byte for each key: 1 where a row was found, else 0.

        once: a row is found one time only, in one call by the earliest moment; a later query of it
        finds nothing. Raises ValueError where ``out`` has not a row for each key, and MemoryError.
        """

STEP_BITS: int
"""Linear steps of an octave of a histogram, as a power of two."""
BUCKETS: int
"""Buckets of a histogram."""

def add_up(
    columns: tuple[_Column, _Column, _Column],
    sums: npt.NDArray[np.int64],
    histogram: npt.NDArray[np.int64] | None,
    /,
) -> None:
    """Adds durations to the sums of their groups.

    columns: group, duration in ns, start in ns. sums: shape (groups, 4), rows of
    noisetop.tables.group_sums. histogram: shape (groups, BUCKETS). Raises ValueError for a group
    that has no row; the rows before it may have been added by then.
    """

def add_gaps(
    columns: tuple[_Column, _Column],
    last: npt.NDArray[np.int64],
    histogram: npt.NDArray[np.int64],
    /,
) -> None:
    """Adds the times between successive moments of a group to its histogram.

    columns: group, moment in ns. last: shape (groups,), the latest moment of each in ns, -1: none;
    updated. histogram: shape (groups, BUCKETS). A moment no later than the latest adds nothing.
    Raises ValueError as add_up() does.
    """

def buckets(durations: _Column, out: npt.NDArray[np.int64], /) -> None:
    """Writes the bucket of each duration in ns to ``out``. Raises ValueError for other lengths."""

def crc32c(content: memoryview | bytes, crc: int = 0, /) -> int:
    """CRC-32C of contiguous bytes that follow those of which ``crc`` is the checksum; 0: none."""

def split_by_kind(
    pieces: Sequence[npt.NDArray[Any] | memoryview | bytes],
    row_bytes: int,
    at: int,
    mask: int,
    kinds: bytes,
    /,
) -> tuple[bytes, ...]:
    """For each kind its rows, one after another, in the order of the pieces.

    pieces: contiguous, rows of ``row_bytes`` each. The kind of a row is its byte at offset ``at``
    under ``mask``; rows of no kind in ``kinds`` (at most 8) are left out. Raises ValueError where a
    piece ends within a row, for an offset outside of it, or where rows change meanwhile.
    """

def flatten(columns: tuple[_Column, _Column], out: npt.NDArray[np.uint64], /) -> int:
    """Which of several nested intervals each moment belongs to, the innermost.

    columns: start and end, in the order of the start, the outer one of two that start together
    first. out: shape (rows, 3), gets start, end and row of each segment, in their order; two rows
    for each interval are always enough. Returns the number of segments. Raises ValueError where
    ``out`` is too small.
    """
