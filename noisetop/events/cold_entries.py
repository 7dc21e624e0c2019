"""Which entries into the kernel come after a time in which nothing entered it.

Such an entry takes longer: caches and branch predictors hold what ran meanwhile, those of a
hypervisor too. docs/cost.md has figures.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from noisetop.events.interruption import Flag, Interruptions

COLD_NS = 250_000
"""From the end of what entered the kernel last on a CPU; after less than that an entry is warm."""
_MARKS = np.uint8(Flag.ENTRY | Flag.OUTERMOST)

Times = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int64]


@dataclass(slots=True)
class ColdEntries:
    """Takes tables of interruptions, each with all that ended after the one before and by some
    moment, in any order: the ring has what interrupts the writing of a record before that record.
    The first entry of a CPU is cold."""

    _last_ns: Times = field(default_factory=lambda: np.empty(0, np.int64))
    """By CPU: the end of the last interruption that no other one lay around."""

    def restart(self) -> None:
        """Nothing was seen yet."""
        self._last_ns = self._last_ns[:0]

    def mark(self, table: Interruptions) -> None:
        """Sets the flag of the entries that are cold."""
        rows = np.flatnonzero(table["flags"] & _MARKS)
        if not len(rows):
            return
        rows, ends = _by_cpu_and_end(table, rows)
        cpus, flags = table["cpu"][rows], table["flags"][rows]
        starts = table["start_ns"][rows].astype(np.int64)
        self._grow(int(cpus[-1]))
        is_outermost = flags & np.uint8(Flag.OUTERMOST) != 0
        outermost = np.flatnonzero(is_outermost)
        last = self._last_ns[cpus]
        if len(outermost):
            before = outermost[np.maximum(np.cumsum(is_outermost) - is_outermost - 1, 0)]
            known = (before < np.arange(len(rows))) & (cpus[before] == cpus)
            last = np.where(known, ends[before], last)
            self._last_ns[cpus[outermost]] = ends[outermost]  # the last one of each CPU stays
        _set(table, rows[_are_cold(flags, starts, last)])

    def mark_going_on(self, table: Interruptions) -> None:
        """The same for what has not ended yet, which changes nothing for what comes after it."""
        if len(table):
            self._grow(int(table["cpu"].max()))
            starts = table["start_ns"].astype(np.int64)
            _set(table, _are_cold(table["flags"], starts, self._last_ns[table["cpu"]]))

    def _grow(self, cpu: int) -> None:
        more = cpu + 1 - len(self._last_ns)
        if more > 0:
            self._last_ns = np.append(self._last_ns, np.full(more, -COLD_NS, np.int64))


def _by_cpu_and_end(table: Interruptions, rows: Rows) -> tuple[Rows, Times]:
    """These rows in that order, and the ends."""
    cpus = table["cpu"][rows]
    if (cpus[1:] < cpus[:-1]).any():
        order = np.argsort(cpus, kind="stable")
        rows, cpus = rows[order], cpus[order]
    ends = (table["start_ns"][rows] + table["gross_ns"][rows]).astype(np.int64)
    if ((ends[1:] < ends[:-1]) & (cpus[1:] == cpus[:-1])).any():
        order = np.lexsort((ends, cpus))
        rows, ends = rows[order], ends[order]
    return rows, ends


def _are_cold(flags: npt.NDArray[np.uint8], starts: Times, last: Times) -> npt.NDArray[np.bool_]:
    entries: npt.NDArray[np.bool_] = flags & np.uint8(Flag.ENTRY) != 0
    return entries & (starts - last >= COLD_NS)


def _set(table: Interruptions, which: npt.NDArray[np.bool_] | Rows) -> None:
    table["flags"][which] |= np.uint8(Flag.COLD)
