"""Columns of numbers of one or two bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def occurring(column: npt.NDArray[np.unsignedinteger[Any]]) -> list[int]:
    """The numbers that occur, in order: as np.unique(), which sorts, in a fifth of the time."""
    found: list[int] = np.flatnonzero(np.bincount(column)).tolist()
    return found
