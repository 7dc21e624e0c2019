"""Which part of the gaps events account for, and what the rest is.

Every traced interruption is assigned to the one gap that it lies in. What a gap holds beyond its
events is, in this order: the calibrated cost of entering and leaving interrupts, time that others
account for (see AccountedTime), and unexplained. The parts of a gap sum up to its length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from noisetop.events.interruption import INTERRUPTION, Interruptions, Source
from noisetop.gaps.accounted_time import AccountedTime, Waits, account
from noisetop.gaps.gaps import Gaps, Times

MIN_CALIBRATION_GAPS = 5
"""A kind of interrupt that was alone in fewer gaps than that is not calibrated."""

_NONE = -1
_THREAD = "thread"
_SOFTIRQ = "softirq"


@dataclass(frozen=True, slots=True)
class InterruptCost:
    """What one kind of interrupt costs beyond the time between its entry and exit events."""

    kind: str
    p50_ns: int
    """Median over the gaps that held one such interrupt and nothing else."""
    gaps: int
    """How many those were."""
    before_p50_ns: int = 0
    """Median of what lay before the first event of these gaps; on a guest the hypervisor's way to
    deliver an interrupt is in here."""
    after_p50_ns: int = 0
    """Median of what lay after the last event."""


@dataclass(frozen=True, slots=True)
class ExplainedPart:
    """Lost time that is explained."""

    path: tuple[str, ...]
    count: int
    ns: int


@dataclass(slots=True)
class Explanation:
    """The gaps of one thread, explained. All arrays have one element per stored gap."""

    gaps: Gaps
    events: tuple[ExplainedPart, ...]
    """Net time per source, largest first."""
    entries: tuple[ExplainedPart, ...]
    """Cost of entering and leaving, per kind of interrupt."""
    accounted: tuple[ExplainedPart, ...]
    entry_costs: tuple[InterruptCost, ...]
    event_ns: Times = field(repr=False)
    entry_ns: Times = field(repr=False)
    accounted_by: dict[str, Times] = field(repr=False)
    """By name."""
    unmatched_count: int = 0
    """Traced interruptions that lie in no gap, as those shorter than the threshold do."""
    unmatched_ns: int = 0
    excess_ns: int = 0
    """By how much the events of gaps were longer than these: 0 unless the accounts are wrong."""
    unreported_ns: Times = field(default_factory=lambda: np.zeros(0, np.int64), repr=False)
    """Of the unexplained: runnable by the scheduler, not running, cause unknown."""
    inside: Interruptions = field(default_factory=lambda: np.empty(0, INTERRUPTION), repr=False)
    """The events that lie in gaps, by their beginning."""
    gap_of: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64), repr=False)
    """Index of the gap of each of them."""
    before_ns: Times = field(default_factory=lambda: np.zeros(0, np.int64), repr=False)
    """From the beginning of each gap to its first event: its whole length where it holds none."""
    touched: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool), repr=False)
    """Whether an event reaches into the gap that lies in it only in part, and explains nothing."""

    @property
    def accounted_ns(self) -> Times:
        """Time of each gap that others account for."""
        return sum(self.accounted_by.values(), np.zeros(len(self.event_ns), np.int64))

    @property
    def unexplained_ns(self) -> Times:
        """What is left of each gap."""
        return self.gaps.length_ns - self.event_ns - self.entry_ns - self.accounted_ns

    @property
    def unexplained_total_ns(self) -> int:
        """What is left of all gaps, those included that were not stored."""
        return int(self.unexplained_ns.sum()) + self.gaps.unstored_ns

    def share(self, above_ns: int = 0) -> float:
        """Explained part of the time in gaps of at least ``above_ns``; 1 if there are none."""
        if not above_ns:
            lost = self.gaps.lost_ns
            return 1 - self.unexplained_total_ns / lost if lost else 1.0
        chosen = self.gaps.length_ns >= above_ns
        lost = int(self.gaps.length_ns[chosen].sum())
        return 1 - int(self.unexplained_ns[chosen].sum()) / lost if lost else 1.0


@dataclass(slots=True)
class _Joined:
    """Events of one thread in the order of their beginning, and where they belong."""

    events: Interruptions
    end: Times
    outer: npt.NDArray[np.int64]
    """Index of the outermost event around each event, itself for those."""
    gap: npt.NDArray[np.int64]
    """Index of the gap, _NONE for none."""


def _join(gaps: Gaps, events: Interruptions) -> _Joined:
    start = events["start_ns"].astype(np.int64)
    end = start + events["gross_ns"].astype(np.int64)
    order = np.lexsort((-end, start))
    events, start, end = events[order], start[order], end[order]
    outer = _outermost(start, end)
    place = np.searchsorted(gaps.start_ns, start[outer], "right") - 1
    inside = place >= 0
    if len(gaps.start_ns):
        known = np.maximum(place, 0)
        inside &= end[outer] <= gaps.end_ns[known]
        inside &= (start >= gaps.start_ns[known]) & (end <= gaps.end_ns[known])
    return _Joined(events, end, outer, np.where(inside, place, _NONE))


def _touched(gaps: Gaps, start: npt.NDArray[np.uint64], end: Times) -> npt.NDArray[np.bool_]:
    """Which gaps these events reach into."""
    first = np.searchsorted(gaps.end_ns, start.astype(np.int64), "right")
    beyond = np.searchsorted(gaps.start_ns, end, "left")
    reach = np.zeros(len(gaps.start_ns) + 1, np.int64)
    np.add.at(reach, first, 1)
    np.add.at(reach, np.maximum(beyond, first), -1)
    touched: npt.NDArray[np.bool_] = np.cumsum(reach[:-1]) > 0
    return touched


def _outermost(start: Times, end: Times) -> npt.NDArray[np.int64]:
    """For events in the order of their beginning, longest first: the outermost one around each."""
    if not len(start):
        return np.zeros(0, np.int64)
    reach = np.maximum.accumulate(end)
    begins = np.concatenate([[True], start[1:] >= reach[:-1]])
    index = np.where(begins, np.arange(len(start)), 0)
    return np.maximum.accumulate(index)


def _kind_of(source: Source) -> str:
    """What interrupts are calibrated by: one entry path of the kernel, one device."""
    return _THREAD if source.noise_class == _THREAD else " › ".join(source.path[:2])


@dataclass(slots=True)
class _Groups:
    """One interrupt with the softirqs that ran on its way out and the thread that it let run, or
    one run of another thread."""

    gap: npt.NDArray[np.int64]
    kind: npt.NDArray[np.int64]
    names: list[str]


def _groups(joined: _Joined, sources: Sequence[Source]) -> _Groups:
    """The outermost events inside gaps, folded into the interrupt before them."""
    top = (joined.outer == np.arange(len(joined.outer))) & (joined.gap != _NONE)
    gaps: list[int] = []
    kinds: list[str] = []
    for gap, source in zip(
        joined.gap[top].tolist(), joined.events["source"][top].tolist(), strict=True
    ):
        noise_class = sources[source].noise_class
        # What begins a gap has no interrupt that it could belong to: a group of its own.
        if gaps and gaps[-1] == gap and _continues(kinds[-1], noise_class):
            if not kinds[-1].endswith(f" + {noise_class}"):
                kinds[-1] += f" + {noise_class}"
            continue
        gaps.append(gap)
        kinds.append(_kind_of(sources[source]))
    names = list(dict.fromkeys(kinds))
    index = {name: i for i, name in enumerate(names)}
    return _Groups(np.array(gaps, np.int64), np.array([index[k] for k in kinds], np.int64), names)


def _continues(kind: str, noise_class: str) -> bool:
    """Whether an event belongs to the group before it: softirqs to the interrupt on whose way out
    they run, the first thread after it as well, since a spinning thread gives way to no other
    without an interrupt."""
    if kind.split(" + ")[-1] == _THREAD:
        return False
    return noise_class in (_SOFTIRQ, _THREAD)


@dataclass(slots=True)
class _Edges:
    """Of each gap: its first event's beginning and its last event's end, from the gap's edges."""

    before_ns: Times
    after_ns: Times


def _edges(gaps: Gaps, joined: _Joined) -> _Edges:
    inside = joined.gap != _NONE
    first, last = gaps.end_ns.copy(), gaps.start_ns.copy()
    np.minimum.at(first, joined.gap[inside], joined.events["start_ns"][inside].astype(np.int64))
    np.maximum.at(last, joined.gap[inside], joined.end[inside])
    return _Edges(first - gaps.start_ns, gaps.end_ns - last)


def _calibrate(groups: _Groups, rest: Times, edges: _Edges) -> dict[int, InterruptCost]:
    """Median of what is left of the gaps that hold exactly one group, by its kind."""
    per_gap = np.bincount(groups.gap, minlength=len(rest))
    alone = per_gap[groups.gap] == 1
    costs = {}
    for kind, name in enumerate(groups.names):
        mine = groups.gap[alone & (groups.kind == kind)]
        if len(mine) >= MIN_CALIBRATION_GAPS:
            before, after = (
                _lower_median(edges.before_ns[mine]),
                _lower_median(edges.after_ns[mine]),
            )
            p50 = max(_lower_median(rest[mine]), 0)
            costs[kind] = InterruptCost(name, p50, len(mine), before, after)
    return costs


def _lower_median(values: Times) -> int:
    """The lower of the two in the middle, so that it never exceeds the p50."""
    return int(np.sort(values)[(len(values) - 1) // 2])


def _charge_entries(
    groups: _Groups, costs: dict[int, InterruptCost], rest: Times
) -> tuple[Times, tuple[ExplainedPart, ...]]:
    """Charges each group with its kind's p50, but no gap with more than is left of it."""
    price = np.array([costs[k].p50_ns if k in costs else 0 for k in range(len(groups.names))])
    wanted = price[groups.kind] if len(groups.kind) else np.zeros(0, np.int64)
    charged = np.zeros(len(rest), np.int64)
    given = np.zeros(len(wanted), np.int64)
    for i, (gap, ns) in enumerate(zip(groups.gap.tolist(), wanted.tolist(), strict=True)):
        given[i] = min(ns, max(int(rest[gap]) - int(charged[gap]), 0))
        charged[gap] += given[i]
    parts = []
    for kind, name in enumerate(groups.names):
        mine = (groups.kind == kind) & (given > 0)
        if mine.any():
            parts.append(ExplainedPart((name,), int(mine.sum()), int(given[mine].sum())))
    return charged, _largest_first(parts)


def _largest_first(parts: list[ExplainedPart]) -> tuple[ExplainedPart, ...]:
    return tuple(sorted(parts, key=lambda part: (-part.ns, part.path)))


def _event_parts(
    events: Interruptions, inside: npt.NDArray[np.bool_], sources: Sequence[Source]
) -> tuple[ExplainedPart, ...]:
    source = events["source"][inside]
    counts = np.bincount(source, minlength=len(sources))
    net = np.bincount(source, events["net_ns"][inside].astype(float), len(sources))
    return _largest_first(
        [
            ExplainedPart(sources[i].path, int(counts[i]), int(net[i]))
            for i in np.flatnonzero(counts).tolist()
        ]
    )


def _accounted_parts(accounted_by: dict[str, Times]) -> tuple[ExplainedPart, ...]:
    return _largest_first(
        [
            ExplainedPart((name,), int((taken > 0).sum()), int(taken.sum()))
            for name, taken in accounted_by.items()
            if taken.any()
        ]
    )


def _wait_ns(joined: _Joined, sources: Sequence[Source], size: int) -> Times:
    """Time of other threads in each gap: the traced part of what the scheduler calls waiting."""
    is_thread = np.array([one.noise_class == _THREAD for one in sources], bool)
    outermost = (joined.outer == np.arange(len(joined.outer))) & (joined.gap != _NONE)
    waits = outermost & is_thread[joined.events["source"]] if len(sources) else outermost
    total = np.zeros(size, np.int64)
    np.add.at(total, joined.gap[waits], joined.events["gross_ns"][waits].astype(np.int64))
    return total


def explain(
    gaps: Gaps,
    events: Interruptions,
    sources: Sequence[Source],
    accounted: Sequence[AccountedTime] = (),
    waits: Waits = (),
) -> Explanation:
    """Explains the gaps of one thread by the interruptions whose victim it was."""
    joined = _join(gaps, events)
    inside = joined.gap != _NONE
    net = joined.events["net_ns"].astype(np.int64)
    event_ns = np.zeros(len(gaps.start_ns), np.int64)
    np.add.at(event_ns, joined.gap[inside], net[inside])
    rest = np.maximum(gaps.length_ns - event_ns, 0)
    groups = _groups(joined, sources)
    edges = _edges(gaps, joined)
    costs = _calibrate(groups, rest, edges)
    entry_ns, entries = _charge_entries(groups, costs, rest)
    rest = rest - entry_ns
    traced_ns = _wait_ns(joined, sources, len(rest))
    accounted_by, unreported_ns = account(gaps, rest, traced_ns, accounted, waits)
    outermost = joined.outer == np.arange(len(joined.outer))
    return Explanation(
        gaps=gaps,
        events=_event_parts(joined.events, inside, sources),
        entries=entries,
        accounted=_accounted_parts(accounted_by),
        entry_costs=tuple(sorted(costs.values(), key=lambda cost: -cost.gaps)),
        event_ns=event_ns,
        entry_ns=entry_ns,
        accounted_by=accounted_by,
        unmatched_count=int((~inside & outermost).sum()),
        unmatched_ns=int(net[~inside].sum()),
        excess_ns=int(np.maximum(event_ns - gaps.length_ns, 0).sum()),
        unreported_ns=unreported_ns,
        inside=joined.events[inside],
        gap_of=joined.gap[inside],
        before_ns=edges.before_ns,
        touched=_touched(gaps, joined.events["start_ns"][~inside], joined.end[~inside]),
    )
