"""The worst moments of a running trace with their parts, in bounded memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from noisetop.events.interruption import Interruptions, Source, interrupting
from noisetop.events.task_directory import TaskDirectory
from noisetop.events.trigger import Trigger
from noisetop.summary.cpu_victim import CpuVictims
from noisetop.summary.max_single import LongestIntervals
from noisetop.summary.summary import Summary
from noisetop.summary.worst import PartsOfLongest, WorstInterruption, is_aside, without_aside

MOMENTS_KEPT = 100
"""Worst moments that a view lists."""
PARTS_KEPT = 64
"""Of each: the largest."""
LIVE_KEPT = 50
"""By a running trace."""
_ROWS_KEPT = 200_000
"""Interruptions that wait until they are known to belong to none of them: some 12 MiB."""


def _intervals() -> LongestIntervals:
    return LongestIntervals(LIVE_KEPT)


@dataclass(slots=True)
class WorstMoments:
    """Of what is noise: without the turns of victims and contention."""

    intervals: LongestIntervals = field(default_factory=_intervals)
    _parts: PartsOfLongest = field(init=False)
    _named: dict[tuple[int, int], WorstInterruption] = field(default_factory=dict)
    """By CPU and start, from before the sources and triggers got other numbers."""
    _kept: list[WorstInterruption] = field(default_factory=list)
    """From before it was known whose the CPUs are by now."""
    _whose: CpuVictims = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._parts = self._no_parts()

    def _no_parts(self) -> PartsOfLongest:
        return PartsOfLongest(self.intervals, PARTS_KEPT, _ROWS_KEPT)

    def add(
        self,
        table: Interruptions,
        sources: Sequence[Source],
        triggers: Sequence[Trigger],
        whose: CpuVictims,
        directory: TaskDirectory,
    ) -> None:
        """A further table with the lists that it indexes; ``whose``: the CPUs are as far as that is
        known by now."""
        if whose != self._whose:
            self._judge_again(sources, triggers, whose, directory)
        external = without_aside(interrupting(table), sources, whose, directory)
        self.intervals.add(external)
        self._parts.add(external)

    def _judge_again(
        self,
        sources: Sequence[Source],
        triggers: Sequence[Trigger],
        whose: CpuVictims,
        directory: TaskDirectory,
    ) -> None:
        """What is the turn of a victim or contention by now leaves its place to others."""
        about = Summary(0, 0, (), directory=directory, cpu_victims=whose)
        self._kept = [one for one in self.worst(sources, triggers) if not is_aside(about, one)]
        self._whose, self._named, self.intervals = dict(whose), {}, _intervals()
        self._parts = self._no_parts()

    def worst(
        self, sources: Sequence[Source], triggers: Sequence[Trigger]
    ) -> list[WorstInterruption]:
        """Longest first; the lists are those that the tables index."""
        found = [self._with_names(one) for one in self._parts.results(sources, triggers)]
        found = sorted([*found, *self._kept], key=lambda one: -one.interval.noise_ns)
        return found[:LIVE_KEPT]

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
