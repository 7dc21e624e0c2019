"""Intervals of time as two arrays: starts and ends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Times = npt.NDArray[np.int64]
Moments = npt.NDArray[np.uint64]


def union_ns(starts: Times, ends: Times) -> int:
    """Length of what at least one of some intervals covers."""
    if not len(starts):
        return 0
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], np.maximum.accumulate(ends[order])
    before = np.append(starts[:1], ends[:-1])
    return int(np.maximum(ends - np.maximum(starts, before), 0).sum())


@dataclass(frozen=True, slots=True)
class Spans:
    """Stretches of time, at least one; they may overlap."""

    begins: Moments
    """In their order."""
    until: Moments
    """The latest end of those that have begun by then."""

    @classmethod
    def of(cls, begins: Moments, ends: Moments) -> Spans:
        """Those of two columns, in any order."""
        order = np.argsort(begins, kind="stable")
        return cls(begins[order], np.maximum.accumulate(ends[order]))

    @property
    def first_ns(self) -> int:
        """When the first of them begins."""
        return int(self.begins[0])

    @property
    def last_ns(self) -> int:
        """When the last of them ends."""
        return int(self.until[-1])

    def meet(self, begins: Moments, ends: Moments) -> npt.NDArray[np.bool_]:
        """Which of some intervals have a part in any of them."""
        before = np.searchsorted(self.begins, ends)
        found: npt.NDArray[np.bool_] = (before > 0) & (self.until[before - 1] > begins)
        return found
