"""Totals in bounded memory: sources beyond a number become one of their class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from noisetop.counters.calibration import Calibration, EntryCost
from noisetop.events.interruption import Source
from noisetop.events.origin import Origin
from noisetop.events.trigger import Trigger
from noisetop.summary.summary import SourceSummary, Summarizer, Total, merge

OTHER = "other"
"""Second step of the path of all that is not told apart."""


def continued(
    old: Summarizer,
    sources: Sequence[Source],
    triggers: Sequence[Trigger],
    calibration: Calibration,
    kept: int,
) -> Summarizer:
    """A summarizer for tables that index other lists, which counts on from ``old``.

    The ``kept`` sources that cost most stay apart, and all that is no noise. Counts and times of
    the others go to ``other`` of their class, so that no sum changes. ``old`` takes no more tables.
    """
    totals = old.totals(calibration)
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
    for (cpu, noise_class, _, _), parts in rest.items():
        other = replace(merge(parts), source=Source((noise_class, OTHER)))
        earlier.append(Total(cpu, False, other))
    return Summarizer(old.cpus, sources, triggers, intervals=old.intervals, earlier=tuple(earlier))


def _largest(totals: Sequence[Total], kept: int) -> set[Source]:
    """Those that cost most on all CPUs together."""
    cost: dict[Source, int] = {}
    for one in totals:
        about = one.summary
        if about.source.path[1:] == (OTHER,):
            continue
        cost[about.source] = cost.get(about.source, 0) + about.rank_ns + about.idle_ns
    return set(sorted(cost, key=lambda source: (-cost[source], source))[:kept])
