"""Integers as decimal text, a whole column at a time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.uint8]
"""Lines of text of one length, a row each."""

GROUP = 4
_BASE = 10**GROUP


def _table(texts: list[bytes]) -> npt.NDArray[np.uint32]:
    return np.frombuffer(b"".join(texts), np.uint32)


_ZEROS = [b"%04d" % number for number in range(_BASE)]
_SPACES = [b"%4d" % number for number in range(_BASE)]
# The second half is for groups that have a digit before them.
_GROUPS = _table([b" " * GROUP, *_SPACES[1:], *_ZEROS])
_LAST_GROUP = _table([*_SPACES, *_ZEROS])
_THOUSANDTHS = _table([b".%03d" % number for number in range(1000)])


def width_of(largest: int) -> int:
    """Characters that a column needs for numbers up to ``largest``, a multiple of 4."""
    return -(-len(str(largest)) // GROUP) * GROUP


def write_integers(
    rows: Rows, offset: int, width: int, numbers: npt.NDArray[np.unsignedinteger]
) -> None:
    """Writes each number into its row, right-aligned and padded with spaces.

    ``width`` is what width_of() gave for numbers as large as these.
    """
    left = numbers.astype(np.uint32 if width <= 2 * GROUP else np.uint64, copy=False)
    table = _LAST_GROUP
    for end in range(offset + width, offset, -GROUP):
        higher = left // _BASE
        index = left - higher * _BASE + (higher != 0) * left.dtype.type(_BASE)
        rows[:, end - GROUP : end].view(np.uint32)[:, 0] = table.take(index)
        left, table = higher, _GROUPS


def write_thousandths(rows: Rows, offset: int, width: int, numbers: npt.NDArray[np.uint64]) -> None:
    """Writes each number divided by 1000, with three decimals, in ``width`` + 4 characters."""
    whole = numbers // 1000
    write_integers(rows, offset, width, whole)
    end = offset + width
    rest = _THOUSANDTHS.take((numbers - whole * 1000).astype(np.int64))
    rows[:, end : end + GROUP].view(np.uint32)[:, 0] = rest
