"""Intervals of time as two arrays: starts and ends."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Times = npt.NDArray[np.int64]


def union_ns(starts: Times, ends: Times) -> int:
    """Length of what at least one of some intervals covers."""
    if not len(starts):
        return 0
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], np.maximum.accumulate(ends[order])
    before = np.append(starts[:1], ends[:-1])
    return int(np.maximum(ends - np.maximum(starts, before), 0).sum())
