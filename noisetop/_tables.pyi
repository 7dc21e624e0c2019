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

class ThreadTimes:
    """Sleep, waits and run time of threads, from the records of each.

    A thread is known from its first record on, as if it had lived since the last close. For one
    object one thread at a time: ValueError where two meet.
    """

    def __init__(self, start_ns: int, follows: bool, new_mark: int) -> None:
        """start_ns: as if closed then. follows: a first wake-up ends a sleep; else the thread comes
        with it. new_mark: what ``slept`` is where a thread was born or came. All times are in ns
        below 2^64."""

    def account(
        self,
        columns: tuple[_Column, _Column, _Column, _Column, _Column, _Column],
        begins: npt.NDArray[np.uint64],
        /,
    ) -> None:
        """Accounts records in their order.

        columns: tid, CPU, start and end in ns, kind (below), and for how long it slept before, in
        ns. begins: gets for each where the part of a wait begins that was not accounted before and
        whose causes are to be found; 2^64 - 1: there is none. Raises ValueError where it has
        another length, and MemoryError.
        """

    def ran(self, columns: tuple[_Column, _Column], /) -> None:
        """Threads (tid, CPU) were seen on a CPU; said of those of which no CPU is known. Raises
        MemoryError."""

    def close(self, until_ns: int, /) -> tuple[bytes, bytes]:
        """Tells the time since the last call up to a moment, and forgets threads that have ended.

        Two arrays of int64. A row for each thread: tid, wall, blocked, delay and throttled time in
        ns, the CPU where it runs (-1: not known), and how many rows of the other array are about
        it: a CPU (-1: not known) and for how long it ran there, in ns. Raises MemoryError.
        """

    def forget(self, columns: tuple[_Column], /) -> None:
        """Right after close(): forgets threads by tid. Raises MemoryError."""

    def tids(self) -> bytes:
        """All threads that are known, in the order of becoming so, a uint64 each."""

WAITED: int
WOKEN: int
THROTTLED: int
BLOCKED: int
EXITED: int
"""Kinds of records: it waited, for any reason, after it was woken, or as its group was throttled;
it slept; it ended."""
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

def rests(
    columns: tuple[_Column, _Column, _Column, _Column],
    marks: tuple[int, int],
    last: npt.NDArray[np.int64],
    out: npt.NDArray[np.int64],
    /,
) -> None:
    """How long before each row its group rested, in ns: from the end of the last one before it.

    columns: group, start and length in ns, marks below 256. marks: a row with none of the first
    ones is not looked at and gets 0; one with one of the second ones ends a rest for those after
    it. Within a group the order is that of the ends. last: shape (groups,), when the last one
    ended; updated. Raises ValueError where a group has no place there or ``out`` not one for each
    row, and MemoryError.
    """

def buckets(durations: _Column, out: npt.NDArray[np.int64], /) -> None:
    """Writes the bucket of each duration in ns to ``out``. Raises ValueError for other lengths."""

def crc32c(content: memoryview | bytes, crc: int = 0, /) -> int:
    """CRC-32C of contiguous bytes that follow those of which ``crc`` is the checksum; 0: none."""

def pack_records(records: npt.NDArray[np.void], at: int, last: npt.NDArray[np.uint64], /) -> bytes:
    """Records of 64 bytes without the words that are those of the last record with the same byte at
    offset ``at``. last: shape (256, 8), zeros at first; updated. Raises ValueError for others."""

def unpack_records(
    packed: memoryview | bytes,
    at: int,
    last: npt.NDArray[np.uint64],
    records: npt.NDArray[np.void],
    /,
) -> int:
    """Fills an array with records that were packed, from offset ``at`` on, and returns the offset
    behind them. ``last`` as in pack_records(). Raises ValueError where there are fewer."""

def split_by_kind(
    pieces: Sequence[npt.NDArray[Any] | memoryview | bytes],
    row_bytes: int,
    at: int,
    mask: int,
    kinds: bytes,
    block_rows: int,
    /,
) -> tuple[list[bytes], ...]:
    """For each kind its rows, one after another, in the order of the pieces, in blocks of so many
    of which the last may be smaller.

    pieces: contiguous, rows of ``row_bytes`` each. The kind of a row is its byte at offset ``at``
    under ``mask``; rows of no kind in ``kinds`` (at most 8) are left out. Raises ValueError where a
    piece ends within a row, for an offset outside of it, for blocks of no or too many rows, or
    where rows change meanwhile.
    """

def flatten(columns: tuple[_Column, _Column], out: npt.NDArray[np.uint64], /) -> int:
    """Which of several nested intervals each moment belongs to, the innermost.

    columns: start and end, in the order of the start, the outer one of two that start together
    first. out: shape (rows, 3), gets start, end and row of each segment, in their order; two rows
    for each interval are always enough. Returns the number of segments. Raises ValueError where
    ``out`` is too small.
    """

def shares(
    waits: tuple[_Column, _Column, _Column],
    segments: tuple[_Column, _Column, _Column],
    competing: bytes,
    switch_ns: int,
    left: npt.NDArray[np.uint64],
    /,
) -> bytes:
    """What took the time of waits.

    waits: owner, start and end in ns, in any order. segments: start and end in ns and kind of what
    ran, without overlap, in their order. competing: a byte for each kind, not 0: it is another
    task. left: gets the time of each wait that no segment has; up to ``switch_ns`` of it is given
    to the kind that competed longest in that wait, if any did. Returns rows of three uint64: owner,
    kind (their number: nothing) and time in ns, one for each pair that has any. Raises ValueError
    for a kind without its byte or another length of ``left``, and MemoryError.
    """
