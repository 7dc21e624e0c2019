"""Which tasks a thread source stands for: count and time of each, in bounded memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from noisetop._tables import add_up
from noisetop.events.interruption import Interruptions, Source
from noisetop.tables.dictionary import DictionaryEncoder
from noisetop.tables.group_sums import COUNT, LARGEST, TOTAL, Sums, no_sums, widened
from noisetop.tables.rows import select

KEPT = 64
"""Tasks of a source that are told apart: those that come first."""
_REST = 0


@dataclass(frozen=True, slots=True)
class ThreadSummary:
    """What one task took as one thread source; tid 0: all those that are not told apart."""

    tid: int
    count: int
    net_ns: int
    max_ns: int
    """Largest net time of one interruption."""


@dataclass(slots=True)
class ThreadTotals:
    """Sums by thread source and task. ``sources`` may grow between calls."""

    sources: Sequence[Source]
    _slots: dict[int, dict[int, int]] = field(default_factory=dict)
    """By source and tid, where the sums stand."""
    _used: int = 0
    _sums: Sums = field(default_factory=no_sums)
    _encoder: DictionaryEncoder = field(default_factory=lambda: DictionaryEncoder(2))
    _threads: npt.NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, bool))
    """By source: whether it is a thread."""

    def add(self, noise: Interruptions) -> Interruptions:
        """Adds interruptions of victims. Returns those by threads other than the idle one."""
        fresh = [one.noise_class == "thread" for one in self.sources[len(self._threads) :]]
        self._threads = np.append(self._threads, np.array(fresh, bool))
        threads = select(noise, self._threads.take(noise["source"]) & (noise["tid"] != 0))
        sources, tids, net_ns = threads["source"], threads["tid"], threads["net_ns"]
        slots = self._encoder.numbers(
            (sources, tids), lambda at: self._slot(int(sources[at]), int(tids[at]))
        )
        self._sums = widened(self._sums, self._used)
        add_up((slots, net_ns, net_ns), self._sums, None)
        return threads

    def _slot(self, source: int, tid: int) -> int:
        slots = self._slots.setdefault(source, {})
        if tid not in slots and len(slots) >= KEPT:
            tid = _REST
        if tid not in slots:
            slots[tid] = self._used
            self._used += 1
        return slots[tid]

    def by_source(self) -> dict[Source, tuple[ThreadSummary, ...]]:
        """The tasks of each thread source, largest net time first; they add up to the source."""
        sums = self._sums.tolist()
        return {
            self.sources[source]: tuple(
                sorted(
                    (
                        ThreadSummary(tid, sums[at][COUNT], sums[at][TOTAL], sums[at][LARGEST])
                        for tid, at in slots.items()
                    ),
                    key=lambda one: (-one.net_ns, -one.count, one.tid),
                )
            )
            for source, slots in self._slots.items()
        }
