"""Totals in bounded memory: sources beyond a number become one of their class."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from noisetop.counters.calibration import Calibration, EntryCost
from noisetop.events.interruption import Source
from noisetop.events.origin import Origin
from noisetop.events.trigger import Trigger
from noisetop.summary.summarizer import Summarizer, Total
from noisetop.summary.summary import SourceSummary, merge


@dataclass(frozen=True, slots=True)
class FoldedTotals:
    """What a summarizer has added up; it takes no more tables."""

    old: Summarizer
    totals: tuple[Total, ...]
    kept: AbstractSet[Source]
    """Sources that stay apart."""

    def told_as(self, source: Source) -> Source:
        """What a source is told as."""
        return source if source in self.kept else source.other

    def continued(self, sources: Sequence[Source], triggers: Sequence[Trigger]) -> Summarizer:
        """A summarizer for tables that index other lists, which counts on from here."""
        return Summarizer(
            self.old.cpus,
            sources,
            triggers,
            self.old.directory,
            intervals=self.old.intervals,
            earlier=self.totals,
            started=self.old.started,
            most_tasks=self.old.most_tasks,
        )


def folded(old: Summarizer, calibration: Calibration, start_ns: int, kept: int) -> FoldedTotals:
    """Keeps the ``kept`` sources apart that cost most since ``start_ns``, and all that is no noise.

    Counts and times of the others go to ``other`` of their class, so that no sum changes.
    """
    old.started.fold(old.directory)
    totals = old.totals(calibration, old.started.rows(old.directory, start_ns))
    largest = _largest([one for one in totals if not one.is_side], kept)
    earlier: list[Total] = []
    rest: dict[tuple[int, str, Origin, EntryCost | None], list[SourceSummary]] = {}
    for one in totals:
        about = one.summary
        if one.is_side or about.source in largest:
            # A row of its own: the one it has would keep the whole table in memory.
            own = replace(about, histogram=about.histogram.copy())
            earlier.append(one._replace(summary=own))
            continue
        key = one.cpu, about.source.noise_class, about.origin, about.entry
        rest.setdefault(key, []).append(about)
    for (cpu, _, _, _), parts in rest.items():
        other = replace(merge(parts), source=parts[0].source.other)
        earlier.append(Total(cpu, False, other))
    return FoldedTotals(old, tuple(earlier), largest)


def _largest(totals: Sequence[Total], kept: int) -> frozenset[Source]:
    """Those that cost most on all CPUs together; names that anybody can choose are a quarter."""
    cost: dict[Source, int] = {}
    for one in totals:
        about = one.summary
        if about.source != about.source.other:
            cost[about.source] = cost.get(about.source, 0) + about.rank_ns + about.idle_ns
    ordered = sorted(cost, key=lambda source: (-cost[source], source))
    tasks = [source for source in ordered if source.noise_class == "thread"][: kept // 4]
    return frozenset([*tasks, *[one for one in ordered if one.noise_class != "thread"][:kept]])
