from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

_Column = npt.NDArray[np.integer[Any]]
"""One-dimensional; whatever width and stride, and not always aligned."""

class Groups:
    """Numbers combinations of integers as they come, from 0 on.

    Only for one thread at a time: ValueError otherwise, and where columns differ in length.
    """

    def __init__(self, width: int) -> None: ...
    def numbers(self, columns: Sequence[_Column], out: npt.NDArray[np.uint32], /) -> list[int]:
        """Writes the number of each row; the rows where new combinations first occur."""

class TriggerBook:
    """Rows that are found again by a key and a moment in ns; ``len()``: how many it holds.

    Forgets, now and then, what is older than the newest by more than ``recent_ns``, but for the
    last two of each key and no more than ``remembered`` in all. Only for one thread at a time:
    ValueError otherwise, and where there is not a row for each key.
    """

    def __init__(self, row_bytes: int, recent_ns: int, remembered: int) -> None: ...
    def __len__(self) -> int: ...
    def add(self, keys_and_times: tuple[_Column, _Column], rows: npt.NDArray[Any], /) -> None: ...
    def find(
        self, keys_and_moments: tuple[_Column, _Column], once: bool, out: npt.NDArray[Any], /
    ) -> bytes:
        """Writes for each key the last row up to its moment, nothing where there is none; a byte
        for each tells which. ``once``: a row is found one time only, in one call by the earliest
        moment, and what comes later finds nothing in its place."""

STEP_BITS: int
"""Linear steps of an octave of a histogram, as a power of two."""
BUCKETS: int

def add_up(
    columns: tuple[_Column, _Column, _Column],
    sums: npt.NDArray[np.int64],
    histogram: npt.NDArray[np.int64] | None,
    /,
) -> None:
    """Adds durations in ns: columns are groups, durations and when they began. ``sums``: a row of
    noisetop.sums for each group, ``histogram``: its buckets. Raises ValueError for a group that has
    none; what stands before it is added by then."""

def add_gaps(
    columns: tuple[_Column, _Column],
    last: npt.NDArray[np.int64],
    histogram: npt.NDArray[np.int64],
    /,
) -> None:
    """Adds the times between two of a group to its histogram: columns are groups and moments in ns.
    ``last``: the latest of each group, -1 for none. What is no later than that adds nothing."""

def buckets(durations: _Column, out: npt.NDArray[np.int64], /) -> None:
    """Writes the bucket of each duration."""

def sorted_out(
    pieces: Sequence[npt.NDArray[Any] | memoryview | bytes],
    row_bytes: int,
    at: int,
    mask: int,
    kinds: bytes,
    /,
) -> tuple[bytes, ...]:
    """For each kind its rows, one after another, in the order of the pieces. The kind of a row is
    its byte at ``at`` under ``mask``; what is of no kind is left out. Raises ValueError where a
    piece ends within a row."""
