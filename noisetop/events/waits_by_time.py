"""Waits by time: those that ended in a period, and those that went on at its end, as the kernel
side tells them of a running trace."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from noisetop.events.layout import Events, Layout
from noisetop.tables.rows import joined, select

_BLOCKED = "blocked"
_NEVER = 1 << 62
Places = npt.NDArray[np.int64]


class WaitsByTime:
    """Takes records of waits in the order of reading; moments are asked for in ascending order."""

    def __init__(self, layout: Layout, records: Sequence[Events]) -> None:
        self._layout = layout
        self._records = joined([np.empty(0, layout.event), *records])
        starts = self._records["start_ns"].astype(np.int64)
        self._ends = starts + self._records["gross_ns"].astype(np.int64)
        self._begins = starts - self._slept()
        self._by_end = np.argsort(self._ends, kind="stable")
        self._by_begin = np.argsort(self._begins, kind="stable")
        self._given = self._begun = 0
        self._active: Places = np.empty(0, np.int64)
        """Those that had begun at the last moment, or the sleep before them, and had not ended."""

    def _slept(self) -> Places:
        """For how long each slept before; 0: it did not, or is not known."""
        slept = np.minimum(self._records["object"], np.uint64(_NEVER)).astype(np.int64)
        known = slept < _NEVER
        if self._layout.slept_new is not None:
            known &= self._records["object"] != np.uint64(self._layout.slept_new)
        known &= slept <= self._records["start_ns"].astype(np.int64)
        return np.where(known & (_BLOCKED in self._layout.wait_reasons), slept, 0)

    def ended(self, until_ns: int | None) -> Events:
        """Those that ended up to a moment (CLOCK_MONOTONIC) and were not given yet, in the order of
        reading; None: all that are left."""
        last = len(self._ends)
        if until_ns is not None:
            last = int(np.searchsorted(self._ends[self._by_end], until_ns, "right"))
        places = np.sort(self._by_end[self._given : last])
        self._given = max(last, self._given)
        return select(self._records, places)

    def going_on(self, at_ns: int) -> Events:
        """Waits and sleep that had begun at a moment, as if they ended then."""
        first = self._begun
        self._begun = int(np.searchsorted(self._begins[self._by_begin], at_ns))
        active = np.concatenate([self._active, self._by_begin[first : self._begun]])
        self._active = active = active[self._ends[active] > at_ns]
        opened = select(self._records, np.sort(active)).copy()
        asleep = opened["start_ns"] >= at_ns
        if asleep.any():
            begins = self._begins[np.sort(active)]
            opened["level"][asleep] = self._layout.wait_reasons.index(_BLOCKED)
            opened["start_ns"][asleep] = begins[asleep].astype(np.uint64)
            opened["object"][asleep] = 0
        opened["gross_ns"] = np.uint64(at_ns) - opened["start_ns"]
        opened["level"] |= np.uint8(self._layout.open_mark)
        return opened
