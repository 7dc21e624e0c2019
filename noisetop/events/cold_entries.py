"""Which entries into the kernel come after a time in which nothing entered it.

Such an entry takes longer: caches and branch predictors hold what ran meanwhile, those of a
hypervisor too. docs/cost.md has figures.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from noisetop._tables import rests
from noisetop.events.interruption import Flag, Interruptions

COLD_NS = 250_000
"""From the end of what entered the kernel last on a CPU; after less than that an entry is warm."""
_MARKS = int(Flag.ENTRY | Flag.OUTERMOST)

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
        if not len(table):
            return
        cpus, flags = table["cpu"], table["flags"]
        self._grow(int(cpus.max()))
        rested = np.empty(len(table), np.int64)
        columns = cpus, table["start_ns"], table["gross_ns"], flags
        rests(columns, (_MARKS, int(Flag.OUTERMOST)), self._last_ns, rested)
        _set(table, np.flatnonzero(_are_cold(flags, rested)))

    def mark_going_on(self, table: Interruptions) -> None:
        """The same for what has not ended yet, which changes nothing for what comes after it."""
        if len(table):
            self._grow(int(table["cpu"].max()))
            starts = table["start_ns"].astype(np.int64)
            _set(table, _are_cold(table["flags"], starts - self._last_ns[table["cpu"]]))

    def _grow(self, cpu: int) -> None:
        more = cpu + 1 - len(self._last_ns)
        if more > 0:
            self._last_ns = np.append(self._last_ns, np.full(more, -COLD_NS, np.int64))


def _are_cold(flags: npt.NDArray[np.uint8], rested_ns: Times) -> npt.NDArray[np.bool_]:
    return Flag.ENTRY.among(flags) & (rested_ns >= COLD_NS)


def _set(table: Interruptions, which: npt.NDArray[np.bool_] | Rows) -> None:
    table["flags"][which] |= np.uint8(Flag.COLD)
