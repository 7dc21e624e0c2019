"""Whether a source comes back regularly: the times between two of it on a CPU."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from noisetop._tables import Groups, add_gaps
from noisetop.events.interruption import Interruptions
from noisetop.tables.histogram import BUCKETS, edges_ns

Index = npt.NDArray[np.int64]

_FEWEST_INTERVALS = 8
_REGULAR_SHARE = 0.6
_MIDDLES = (edges_ns()[:-1] + edges_ns()[1:]) / 2.0
_ABOUT = 2  # buckets on either side of the fullest one: within 12.5 %


@dataclass(slots=True)
class Intervals:
    """Takes tables in the order of their time, in any number of pieces."""

    _groups: Groups = field(default_factory=lambda: Groups(2))
    _numbers: dict[tuple[int, int], int] = field(default_factory=dict)
    """By CPU and source."""
    _counts: Index = field(default_factory=lambda: np.zeros((0, BUCKETS), np.int64))
    _last_ns: Index = field(default_factory=lambda: np.zeros(0, np.int64))
    """When the last of each began; -1: none did."""

    def add(self, table: Interruptions) -> None:
        """Adds interruptions; those that began at one moment count once, and one that comes late
        not at all."""
        groups = np.empty(len(table), np.uint32)
        cpus, sources = table["cpu"], table["source"]
        fresh = self._groups.numbers((cpus, sources), groups)
        for row in fresh:
            self._numbers[int(cpus[row]), int(sources[row])] = len(self._numbers)
        if fresh:
            cells = np.zeros((len(fresh), BUCKETS), np.int64)
            self._counts = np.concatenate([self._counts, cells])
            self._last_ns = np.append(self._last_ns, np.full(len(fresh), -1))
        add_gaps((groups, table["start_ns"]), self._last_ns, self._counts)

    def period_ns(self, cpu: int, source: int) -> int:
        """The interval that most are about as long as; 0 where there is none."""
        number = self._numbers.get((cpu, source))
        if number is None:
            return 0
        counts = self._counts[number]
        total = int(counts.sum())
        if total < _FEWEST_INTERVALS:
            return 0
        fullest = int(counts.argmax())
        near = np.arange(max(fullest - _ABOUT, 0), min(fullest + _ABOUT + 1, BUCKETS))
        if counts[near].sum() < _REGULAR_SHARE * total:
            return 0
        return round(float(np.average(_MIDDLES[near], weights=counts[near])))
