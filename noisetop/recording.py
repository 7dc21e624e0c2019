"""A recording as every view sees it: tables of interruptions and what goes with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from noisetop.absence import Absence
from noisetop.event import Interruptions, Source, interrupting
from noisetop.hardware_figures import figures_from
from noisetop.summary import Losses, OwnCost, Summarizer, Summary
from noisetop.tick import TickStops
from noisetop.trigger import Trigger
from noisetop.waits import WaitBook


@dataclass(slots=True)
class Recording:
    """Interruptions of a period, wherever they are stored."""

    metadata: dict[str, Any]
    """Host, kernel, command line, topology, isolation; see noisetop.system.describe()."""
    cpus: tuple[int, ...]
    start_ns: int
    end_ns: int
    sources: list[Source]
    """What the tables' ``source`` indexes; complete only after all chunks were read."""
    read_chunks: Callable[[], Iterator[Interruptions]]
    """Starts reading from the beginning. Within a CPU intervals come in the order of their end,
    but for those that interrupted the writing of another one."""
    triggers: list[Trigger] = field(default_factory=lambda: [Trigger()])
    """What the tables' ``trigger`` indexes; complete only after all chunks were read."""
    waits: WaitBook = field(default_factory=WaitBook)
    """Of the victims; complete only after all chunks were read."""
    stacks: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """Kernel stacks of triggers by Trigger.stack, innermost function first."""
    losses: Losses = field(default_factory=Losses)
    own_cost: OwnCost = field(default_factory=OwnCost)
    missing: tuple[str, ...] = ()
    absences: tuple[Absence, ...] = ()
    """CPUs that were offline for a part of the period."""
    tick_stops: dict[int, TickStops] = field(default_factory=dict)
    """Attempts to stop the tick, by watched CPU."""
    tasks: dict[int, str] = field(default_factory=dict)
    """Names of victims by tid; complete only after all chunks were read."""
    ended: str = ""
    """Why it ended, in words for the user; empty: as asked."""
    damage: str = ""
    """What is wrong with the file although it could be read; empty: nothing."""

    @property
    def duration_ns(self) -> int:
        """Length of the recorded period."""
        return self.end_ns - self.start_ns

    def chunks(self) -> Iterator[Interruptions]:
        """All interruptions, in tables of bounded size."""
        return map(interrupting, self.read_chunks())

    def all_chunks(self) -> Iterator[Interruptions]:
        """All interruptions, and with them what is none: page faults, entries, moments of the
        hardware."""
        return self.read_chunks()

    def summary(self) -> Summary:
        """Aggregates the whole recording; reads it once."""
        summarizer = Summarizer(self.cpus, self.sources, self.triggers)
        for chunk in self.all_chunks():
            summarizer.add(chunk)
        return self.summary_of(summarizer)

    def summary_of(self, summarizer: Summarizer) -> Summary:
        """The summary of tables that somebody else has read."""
        return summarizer.summary(
            self.start_ns,
            self.end_ns,
            losses=self.losses,
            own_cost=self.own_cost,
            missing=self.missing,
            absences=self.absences,
            tasks=self.tasks,
            waits=self.waits.by_task(),
            hardware=figures_from(self.metadata.get("hardware")),
            missing_hardware=_lines(self.metadata.get("hardware_missing")),
            tick_stops=self.tick_stops,
        )


def _lines(content: object) -> tuple[str, ...]:
    return tuple(map(str, content)) if isinstance(content, list) else ()
