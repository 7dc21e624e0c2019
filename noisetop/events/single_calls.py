"""Which function an interrupt between CPUs ran, by what its senders recorded.

Where functions are not traced as they run, the senders still tell what they queue for a CPU. An
interrupt runs something that was queued since the one before it began, and nothing that is queued
after its end. Where all of that is one function, it ran this one; else nobody can tell, as the idle
loop runs what is queued as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from noisetop.events.layout import Events, Layout
from noisetop.tables.rows import joined, select

Triggers = npt.NDArray[np.void]
"""Structured array of ``struct noise_trigger``."""
Indices = npt.NDArray[np.int64]
_INTERRUPTS = ("call_function", "call_function_single")
_QUEUES = "csd"
"""Triggers of this kind tell what is queued."""
_KEPT = 1 << 16


@dataclass(slots=True)
class SingleCalls:
    """Takes records and events in the order of the rings; state goes from batch to batch."""

    layout: Layout
    _queued: Triggers = field(init=False)
    _last_ns: dict[int, int] = field(default_factory=dict)
    """When the last interrupt of each CPU began."""
    _dropped_ns: int = 0
    """What was queued up to then may be forgotten."""

    def __post_init__(self) -> None:
        self._queued = np.empty(0, self.layout.trigger)

    def restart(self) -> None:
        """Forgets all that was queued."""
        self._queued = self._queued[:0]
        self._last_ns.clear()
        self._dropped_ns = 0

    def add(self, records: Triggers) -> None:
        """Takes what was queued, before the events that ran it."""
        kinds = [n for n, kind in self.layout.kinds.items() if kind.trigger_of == _QUEUES]
        mine = select(records, np.isin(records["source"], kinds))
        self._queued = joined([self._queued, mine])
        self._queued = select(self._queued, np.argsort(self._queued["time_ns"], kind="stable"))
        if beyond := max(len(self._queued) - _KEPT, 0):
            self._dropped_ns = int(self._queued["time_ns"][beyond - 1])
            self._queued = self._queued[beyond:]

    def find(self, events: Events) -> tuple[Indices, Triggers, npt.NDArray[np.bool_]]:
        """Which of the events ran a single function, a record for each that tells it, and whether
        that tells the sender, too."""
        kinds = [n for n, kind in self.layout.kinds.items() if kind.name in _INTERRUPTS]
        rows = np.flatnonzero(np.isin(events["source"], kinds))
        parts = [
            self._find_on(cpu, select(events, mine), mine)
            for cpu in np.unique(events["cpu"][rows]).tolist()
            if len(mine := rows[events["cpu"][rows] == cpu])
        ]
        self._forget()
        if not parts:
            return rows[:0], self._queued[:0], np.empty(0, bool)
        numbers, records, alone = zip(*parts, strict=True)
        return np.concatenate(numbers), joined(list(records)), np.concatenate(alone)

    def _find_on(
        self, cpu: int, events: Events, rows: Indices
    ) -> tuple[Indices, Triggers, npt.NDArray[np.bool_]]:
        """The same for the interrupts of one CPU, which are no others than ``events``."""
        order = np.argsort(events["start_ns"], kind="stable")
        starts = events["start_ns"][order]
        ends = starts + events["gross_ns"][order]
        before = np.concatenate([[np.uint64(self._last_ns.get(cpu, 0))], starts[:-1]])
        self._last_ns[cpu] = int(starts[-1])
        queued = select(self._queued, self._queued["target_cpu"] == cpu)
        if not len(queued):
            return rows[:0], queued, np.empty(0, bool)
        times = queued["time_ns"]
        first, end = np.searchsorted(times, before, "right"), np.searchsorted(times, ends, "right")
        known = (end > first) & (before > self._dropped_ns)
        first, last = np.minimum(first, len(queued) - 1), np.maximum(end - 1, 0)
        known &= times[first] <= starts
        known &= _one(queued, ("function",), first, last)
        alone = _one(queued, ("tid", "context", "cpu"), first, last)
        at = np.maximum(np.searchsorted(times, starts, "right") - 1, 0)
        return rows[order][known], select(queued, at[known]), alone[known]

    def _forget(self) -> None:
        """What was queued before the last interrupt of its CPU is of no use any more."""
        cpus = self._queued["target_cpu"]
        last = np.zeros(int(cpus.max(initial=0)) + 1, np.uint64)
        for cpu, start_ns in self._last_ns.items():
            if cpu < len(last):
                last[cpu] = start_ns
        self._queued = select(self._queued, self._queued["time_ns"] > last[cpus])


def _one(
    records: Triggers, fields: tuple[str, ...], first: Indices, last: Indices
) -> npt.NDArray[np.bool_]:
    """Whether all records from one place to another are the same in some fields."""
    changes = np.zeros(len(records), np.int64)
    for name in fields:
        changes[1:] |= records[name][1:] != records[name][:-1]
    runs = np.cumsum(changes)
    same: npt.NDArray[np.bool_] = runs[first] == runs[last]
    return same
