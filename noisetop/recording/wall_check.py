"""Checks the tables of a recording against its wall clock: what cannot be is damage."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from noisetop._tables import add_up
from noisetop.events.interruption import Interruptions, interrupting
from noisetop.tables.group_sums import TOTAL, Sums, no_sums, widened
from noisetop.tables.rows import select


@dataclass(slots=True)
class WallCheck:
    """Of one reading of a recording of this period, CLOCK_MONOTONIC in ns, below 2^63."""

    start_ns: int
    end_ns: int
    _refused: int = 0
    _by_cpu: Sums = field(default_factory=no_sums)

    def kept(self, table: Interruptions) -> Interruptions:
        """The rows that lie within the period and are no longer than they took; their numbers fit
        into 63 bits."""
        if not len(table):
            return table
        period = np.uint64(self.end_ns - self.start_ns)
        # What began before the period wraps, and is far beyond its end.
        begin = table["start_ns"] - np.uint64(self.start_ns)
        gross = table["gross_ns"].copy()
        impossible = table["net_ns"] > gross
        if impossible.any() or max(begin.max(), gross.max(), (begin + gross).max()) > period:
            impossible |= (begin > period) | (gross > period - np.minimum(begin, period))
            self._refused += int(impossible.sum())
            table = select(table, ~impossible)
        taken = interrupting(table)
        self._by_cpu = widened(self._by_cpu, int(taken["cpu"].max(initial=0)) + 1)
        add_up((taken["cpu"], taken["net_ns"], taken["start_ns"]), self._by_cpu, None)
        return table

    def damage(self) -> str:
        """What cannot be, in words for the user; empty: nothing."""
        words = []
        if self._refused:
            words.append(f"{self._refused} of its events cannot be and are left out")
        period_ns = self.end_ns - self.start_ns
        for cpu in np.flatnonzero(self._by_cpu[:, TOTAL] > period_ns)[:1].tolist():
            words.append(f"CPU {cpu} has more interruptions than time")
        return ", ".join(words)
