"""The worst moments of a running trace with their parts, in bounded memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from noisetop.events.interruption import Interruptions, Source, interrupting
from noisetop.events.task_directory import TaskDirectory
from noisetop.events.trigger import Trigger
from noisetop.summary.cpu_victim import CpuVictims
from noisetop.summary.max_single import LongestIntervals
from noisetop.summary.worst import PartsOfLongest, WorstInterruption, without_aside

MOMENTS_KEPT = 100
"""Worst moments that a view lists."""
PARTS_KEPT = 64
"""Of each: the largest."""
_LIVE_KEPT = 50
_ROWS_KEPT = 200_000
"""Interruptions that wait until they are known to belong to none of them: some 12 MiB."""


def _intervals() -> LongestIntervals:
    return LongestIntervals(_LIVE_KEPT)


@dataclass(slots=True)
class WorstMoments:
    """Of what is noise: without the turns of victims and contention."""

    intervals: LongestIntervals = field(default_factory=_intervals)
    _parts: PartsOfLongest = field(init=False)
    _named: dict[tuple[int, int], WorstInterruption] = field(default_factory=dict)
    """By CPU and start, from before the sources and triggers got other numbers."""

    def __post_init__(self) -> None:
        self._parts = self._no_parts()

    def _no_parts(self) -> PartsOfLongest:
        return PartsOfLongest(self.intervals, PARTS_KEPT, _ROWS_KEPT)

    def add(
        self,
        table: Interruptions,
        sources: Sequence[Source],
        whose: CpuVictims,
        directory: TaskDirectory,
    ) -> None:
        """A further table; ``whose``: the CPUs are as far as that is known by now."""
        external = without_aside(interrupting(table), sources, whose, directory)
        self.intervals.add(external)
        self._parts.add(external)

    def worst(
        self, sources: Sequence[Source], triggers: Sequence[Trigger]
    ) -> list[WorstInterruption]:
        """Longest first; the lists are those that the tables index."""
        return [self._with_names(one) for one in self._parts.results(sources, triggers)]

    def _with_names(self, one: WorstInterruption) -> WorstInterruption:
        """Where it began before the numbers changed, that which tells more of it."""
        before = self._named.get((one.interval.cpu, one.interval.start_ns))
        if before is None or (one.parts and before.interval.end_ns < one.interval.end_ns):
            return one
        return before

    def forget(self, sources: Sequence[Source], triggers: Sequence[Trigger]) -> None:
        """Sources and triggers are about to get other numbers."""
        worst = self.worst(sources, triggers)
        self._named = {(one.interval.cpu, one.interval.start_ns): one for one in worst}
        self._parts = self._no_parts()
