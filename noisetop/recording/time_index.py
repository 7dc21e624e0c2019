"""The tables of a recording by time: what ended in a period, and which threads went on at a moment.

Tables stay as they were read. Records come about in the order of their end, so a period lies in a
few tables, and only these are looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from noisetop.events.interruption import INTERRUPTION, SIDE_LEVEL, Interruptions
from noisetop.tables.intervals import union_ns
from noisetop.tables.rows import joined, select

_WORK = 1
"""Threads, and the work items that run in them."""
_NEVER = 1 << 62


def _ends(table: Interruptions) -> npt.NDArray[np.int64]:
    ends: npt.NDArray[np.int64] = (table["start_ns"] + table["gross_ns"]).astype(np.int64)
    return ends


@dataclass(frozen=True, slots=True)
class _Indexed:
    """A table and its bounds in ns (CLOCK_MONOTONIC)."""

    table: Interruptions
    first_end_ns: int
    last_end_ns: int
    first_thread_ns: int
    """When the earliest of its threads began."""
    first_start_ns: int


@dataclass(slots=True)
class TimeIndex:
    """Takes the tables in the order of the recording; memory is that of the tables."""

    _tables: list[_Indexed] = field(default_factory=list)

    def add(self, table: Interruptions) -> None:
        """A further table."""
        if not len(table):
            return
        ends = _ends(table)
        threads = table["start_ns"][table["level"] <= _WORK]
        self._tables.append(
            _Indexed(
                table,
                int(ends.min()),
                int(ends.max()),
                int(threads.min(initial=_NEVER)),
                int(table["start_ns"].min()),
            )
        )

    @property
    def until_ns(self) -> int:
        """When the last interruption so far ended (CLOCK_MONOTONIC); 0: there is none."""
        return self._tables[-1].last_end_ns if self._tables else 0

    def ended(self, after_ns: int, until_ns: int) -> list[Interruptions]:
        """What ended after one moment and not after another, in the order of the recording."""
        found = []
        for one in self._tables:
            if one.last_end_ns <= after_ns or one.first_end_ns > until_ns:
                continue
            if one.first_end_ns > after_ns and one.last_end_ns <= until_ns:
                found.append(one.table)
                continue
            ends = _ends(one.table)
            inside = (ends > after_ns) & (ends <= until_ns)
            if inside.any():
                found.append(select(one.table, inside))
        return found

    def going_on(self, at_ns: int) -> Interruptions:
        """Threads that began before a moment and ended after it, with gross and net time as they
        were then."""
        found = [np.empty(0, INTERRUPTION)]
        for one in self._tables:
            if one.first_thread_ns >= at_ns or one.last_end_ns <= at_ns:
                continue
            table = one.table
            inside = (table["level"] <= _WORK) & (table["start_ns"] < at_ns)
            inside &= _ends(table) > at_ns
            found.append(select(table, inside))
        rows = joined(found).copy()
        for row in rows:
            self._cut(row, at_ns)
        return rows

    def _cut(self, row: np.void, at_ns: int) -> None:
        """Takes away what comes later. What interrupted it up to then is taken out of its net time,
        and lost records leave no more net time than there was."""
        start_ns, gross_ns, net_ns = int(row["start_ns"]), int(row["gross_ns"]), int(row["net_ns"])
        so_far_ns, later_ns = at_ns - start_ns, start_ns + gross_ns - at_ns
        nested_ns = self._nested(int(row["cpu"]), int(row["level"]), start_ns, at_ns)
        cut_ns = max(so_far_ns - nested_ns, net_ns - later_ns, 0)
        row["gross_ns"], row["net_ns"] = so_far_ns, min(cut_ns, net_ns)

    def _nested(self, cpu: int, level: int, start_ns: int, until_ns: int) -> int:
        """Time between two moments in which something of a higher level ran on a CPU."""
        starts: list[npt.NDArray[np.int64]] = []
        ends: list[npt.NDArray[np.int64]] = []
        for one in self._tables:
            if one.last_end_ns <= start_ns or one.first_start_ns >= until_ns:
                continue
            table = one.table
            inside = (table["cpu"] == cpu) & (table["level"] > level)
            inside &= (table["level"] != SIDE_LEVEL) & (table["start_ns"] < until_ns)
            rows = select(table, inside & (_ends(table) > start_ns))
            # A wait may begin in an interrupt, and with it what delays the victim.
            starts.append(np.maximum(rows["start_ns"].astype(np.int64), start_ns))
            ends.append(np.minimum(_ends(rows), until_ns))
        return union_ns(np.concatenate(starts), np.concatenate(ends)) if starts else 0
