"""How long victims could have run but did not, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

import numpy as np

from noisetop.events.interruption import OTHER_TID, Flag
from noisetop.events.layout import Events
from noisetop.tables.rows import select

_WAITS = ("preempted", "woken", "throttled")
_NEVER_NS = 1 << 62
"""No machine runs that long: 146 years."""


@dataclass(slots=True)
class TaskWait:
    """The waits of one victim. Not frozen: there are many."""

    count: dict[str, int]
    """By reason."""
    total_ns: dict[str, int]
    max_ns: int

    @property
    def sum_ns(self) -> int:
        """All its waits: what /proc/PID/schedstat calls run delay."""
        return sum(self.total_ns.values())


@dataclass(slots=True)
class WaitBook:
    """Adds up the waits that the records tell. A task waits for one CPU at a time."""

    _reasons: dict[str, None] = field(default_factory=dict)
    """In the order of ``enum noise_wait``: preempted (pushed off its CPU), woken (not yet running),
    throttled (its control group has used up its CPU quota)."""
    _count: dict[tuple[int, str], int] = field(default_factory=dict)
    _total_ns: dict[tuple[int, str], int] = field(default_factory=dict)
    _max_ns: dict[int, int] = field(default_factory=dict)

    def add(self, records: Events, reasons: Sequence[str], start_ns: int = 0) -> None:
        """Takes records of waits; ``reasons`` are the names of ``enum noise_wait`` by value. What
        began before ``start_ns``, has not ended yet or is no wait is left out. Raises ValueError
        for what no kernel tells, which is in a damaged file."""
        told = np.array([reason in _WAITS for reason in reasons])
        self._reasons |= dict.fromkeys(reason for reason in reasons if reason in _WAITS)
        levels = records["level"]
        waits = (levels < len(reasons)) & (records["start_ns"] >= start_ns)
        waits[waits] = told[levels[waits]]
        records = select(records, waits)
        if not len(records):
            return
        groups = records["tid"].astype(np.uint64) << np.uint64(8) | records["level"]
        keys, place = np.unique(groups, return_inverse=True)
        # A wait that moves to another CPU is told in segments.
        counts = np.bincount(place, ~Flag.CONTINUED.among(records["flags"])).astype(np.int64)
        sums = np.bincount(place, records["gross_ns"].astype(np.float64))
        if sums.max() >= _NEVER_NS:
            raise ValueError("waits of an impossible length")
        totals = sums.astype(np.int64)
        largest = np.zeros(len(keys), np.uint64)
        np.maximum.at(largest, place, records["gross_ns"])
        for i, packed in enumerate(keys.tolist()):
            tid, reason = packed >> 8, reasons[packed & 0xFF]
            self._count[tid, reason] = self._count.get((tid, reason), 0) + int(counts[i])
            self._total_ns[tid, reason] = self._total_ns.get((tid, reason), 0) + int(totals[i])
            self._max_ns[tid] = max(self._max_ns.get(tid, 0), int(largest[i]))

    @classmethod
    def of(cls, tasks: Mapping[int, TaskWait]) -> WaitBook:
        """The book of which by_task() gives these."""
        book = cls()
        for tid, wait in tasks.items():
            book._add_task(tid, wait)
        return book

    def merge(self, other: WaitBook) -> None:
        """Adds all that is in another book."""
        for tid, wait in other.by_task().items():
            self._add_task(tid, wait)

    def _add_task(self, tid: int, wait: TaskWait) -> None:
        self._reasons |= dict.fromkeys((*wait.count, *wait.total_ns))
        for reason, count in wait.count.items():
            self._count[tid, reason] = self._count.get((tid, reason), 0) + count
        for reason, total_ns in wait.total_ns.items():
            self._total_ns[tid, reason] = self._total_ns.get((tid, reason), 0) + total_ns
        self._max_ns[tid] = max(self._max_ns.get(tid, 0), wait.max_ns)

    def fold(self, kept: Set[int]) -> None:
        """The waits of all but the ``kept`` victims become those of OTHER_TID."""
        for tid in [tid for tid in self._max_ns if tid not in kept and tid != OTHER_TID]:
            for sums in (self._count, self._total_ns):
                for reason in self._reasons:
                    if (value := sums.pop((tid, reason), None)) is not None:
                        others = OTHER_TID, reason
                        sums[others] = sums.get(others, 0) + value
            self._max_ns[OTHER_TID] = max(self._max_ns.pop(tid), self._max_ns.get(OTHER_TID, 0))

    def clear(self) -> None:
        """Forgets everything."""
        self._count.clear()
        self._total_ns.clear()
        self._max_ns.clear()

    def by_task(self) -> Mapping[int, TaskWait]:
        """The waits of each victim so far."""
        return {
            tid: TaskWait(
                count={r: self._count[tid, r] for r in self._reasons if (tid, r) in self._count},
                total_ns={
                    r: self._total_ns[tid, r] for r in self._reasons if (tid, r) in self._total_ns
                },
                max_ns=largest,
            )
            for tid, largest in self._max_ns.items()
        }
