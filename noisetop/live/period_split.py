"""Threads that go on when a period ends: each period has its own part of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from noisetop.events.interruption import NO_ENTRY, Interruptions
from noisetop.tables.rows import joined

_THREAD, _WORK = 0, 1


@dataclass(slots=True)
class PeriodSplitter:
    """Cuts at the end of each period, so that none has more noise than time."""

    _told: dict[tuple[int, int, int], tuple[int, int]] = field(default_factory=dict)
    """By CPU, level and start of what went on: up to when it is told, and how much net time."""

    def split(self, table: Interruptions, still: Interruptions, until_ns: int) -> Interruptions:
        """The part that the period up to ``until_ns`` has of interruptions that have ended and of
        those that have not, both in ns as they are now."""
        ended = self.rest_of(table)
        told_before, self._told = self._told, {}
        parts = [self._part_of(row, told_before, until_ns) for row in still]
        rows = [part for part in parts if part is not None]
        return joined([ended, *rows])

    def rest_of(self, table: Interruptions) -> Interruptions:
        """Interruptions that have ended, without what earlier periods have of them."""
        if not self._told or not len(table):
            return table
        starts = np.fromiter((start for _, _, start in self._told), np.uint64)
        places = np.flatnonzero((table["level"] <= _WORK) & np.isin(table["start_ns"], starts))
        if not len(places):
            return table
        table = table.copy()
        for place in places.tolist():
            row = table[place]
            told = self._told.get((int(row["cpu"]), int(row["level"]), int(row["start_ns"])))
            if told is not None:
                _shorten(row, *told)
        return table

    def _part_of(
        self, row: np.void, told: dict[tuple[int, int, int], tuple[int, int]], until_ns: int
    ) -> Interruptions | None:
        key = int(row["cpu"]), int(row["level"]), int(row["start_ns"])
        start_ns, told_net = told.get(key, (key[2], 0))
        end_ns = min(key[2] + int(row["gross_ns"]), until_ns)
        later_ns = key[2] + int(row["gross_ns"]) - end_ns
        net_ns = max(int(row["net_ns"]) - later_ns, told_net)
        net_ns = min(net_ns, told_net + max(end_ns - start_ns, 0))
        self._told[key] = max(end_ns, start_ns), net_ns
        if end_ns <= start_ns:
            return None
        part = np.array([row], row.dtype)
        part["start_ns"], part["gross_ns"] = start_ns, end_ns - start_ns
        part["net_ns"] = net_ns - told_net
        if told_net:
            part["flags"] &= NO_ENTRY
        return part


def _shorten(row: np.void, until_ns: int, net_ns: int) -> None:
    cut_ns = until_ns - int(row["start_ns"])
    row["start_ns"] = until_ns
    row["gross_ns"] = max(int(row["gross_ns"]) - cut_ns, 0)
    row["net_ns"] = max(int(row["net_ns"]) - net_ns, 0)
    row["flags"] &= NO_ENTRY
