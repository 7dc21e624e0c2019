"""Entry costs from gaps and events: docs/cost.md has the formula.

A gap is as long as the net time of its events and the entry costs of its outermost ones together.
Gaps that hold as little as possible tell what each kind of entry costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from noisetop.counters.calibration import (
    KINDS,
    MEASURED,
    EntryCost,
    taken_from,
)
from noisetop.events.interruption import SIDE_LEVEL, Flag, Interruptions, Source
from noisetop.gaps.explain import explain
from noisetop.gaps.gaps import Gaps, Times
from noisetop.summary.cost import entry_kind

MIN_SAMPLES = 5
"""A kind with fewer gaps is not measured."""

_INTERRUPTS = ("timer", "call_function", "reschedule", "irq", "irq_work", "nmi")
_NEAREST = {
    "timer": ("irq", "call_function", "reschedule"),
    "call_function": ("reschedule", "irq", "timer"),
    "reschedule": ("call_function", "irq", "timer"),
    "irq": ("call_function", "reschedule", "timer"),
    "irq_work": ("call_function", "reschedule", "timer"),
    "nmi": ("timer", "call_function", "irq"),
}
"""Where the cost of an interrupt is taken from, if it was not measured; first comes the nearest."""
_LONGEST_SHARE, _LONGEST_LEAST = 100, 2
"""One of so many samples is left out of a mean, and at least two: the longest, in which something
else took time."""
_ENTRY_STEPS = 2
_SOFTIRQ, _SWITCH, _FAULT = "softirq", "switch", "fault"
_NEVER_COLD = (_SOFTIRQ, _SWITCH, _FAULT)
"""The first two follow an interrupt, whose entry is the cold one; a fault is the program's doing,
and lies beside the noise."""


Which = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class GapContents:
    """The gaps of which every event is known; a row each."""

    length_ns: Times
    event_ns: Times
    """Net time of all events."""
    counts: npt.NDArray[np.int64]
    """Outermost events by kind, in the order of KINDS."""
    is_cold: Which
    """Whether it begins with a cold entry."""

    def joined(self, other: GapContents) -> GapContents:
        """Both together."""
        return GapContents(
            np.concatenate([self.length_ns, other.length_ns]),
            np.concatenate([self.event_ns, other.event_ns]),
            np.concatenate([self.counts, other.counts]),
            np.concatenate([self.is_cold, other.is_cold]),
        )

    def chosen(self, which: Which) -> GapContents:
        """Some of them."""
        return GapContents(
            self.length_ns[which], self.event_ns[which], self.counts[which], self.is_cold[which]
        )

    @property
    def excess_ns(self) -> Times:
        """What entries cost."""
        return self.length_ns - self.event_ns

    def holding(self, **counts: int) -> Which:
        """Gaps that hold just so many events of each kind, and none of the kinds not named."""
        wanted = np.array([counts.get(kind, 0) for kind in KINDS])
        same: Which = (self.counts == wanted).all(1)
        return same


_NO_TIMES = np.zeros(0, np.int64)
NO_GAPS = GapContents(
    _NO_TIMES, _NO_TIMES, np.zeros((0, len(KINDS)), np.int64), np.zeros(0, np.bool_)
)


def own_events(table: Interruptions, sources: Sequence[Source], tid: int) -> Interruptions:
    """Of all events of its CPU those that a thread's gaps are made of: not its own runs, of which
    others are the victims, and of the faults only its own. The idle task delays nobody."""
    if not len(table):
        return table
    is_thread = np.array([source.noise_class == "thread" for source in sources], bool)
    runs = is_thread[table["source"]] & ((table["tid"] == tid) | (table["tid"] == 0))
    foreign = (table["level"] == SIDE_LEVEL) & (table["tid"] != tid)
    taken: Interruptions = table[~runs & ~foreign]
    return taken


def gap_contents(gaps: Gaps, events: Interruptions, sources: Sequence[Source]) -> GapContents:
    """What the gaps of one thread hold. ``events`` as own_events() gives them."""
    explanation = explain(gaps, events, sources)
    start = explanation.inside["start_ns"].astype(np.int64)
    end = start + explanation.inside["gross_ns"].astype(np.int64)
    reach = np.concatenate([[np.iinfo(np.int64).min], np.maximum.accumulate(end)[:-1]])
    numbers = np.array([_number(source) for source in sources], np.int64)
    number = numbers[explanation.inside["source"]] if len(start) else np.zeros(0, np.int64)
    handled = ~Flag.UNHANDLED.among(explanation.inside["flags"])
    outermost = (start >= reach[: len(start)]) & (number >= 0) & handled
    counts = np.zeros((len(gaps.start_ns), len(KINDS)), np.int64)
    np.add.at(counts, (explanation.gap_of[outermost], number[outermost]), 1)
    is_cold = np.zeros(len(gaps.start_ns), np.bool_)
    is_cold[explanation.gap_of[Flag.COLD.among(explanation.inside["flags"])]] = True
    known = ~explanation.touched & (counts.sum(1) > 0)
    return GapContents(gaps.length_ns, explanation.event_ns, counts, is_cold).chosen(known)


def _number(source: Source) -> int:
    """Place in KINDS, -1 for none: not of what an interrupt calls, or of the sleep in a fault."""
    called = source.noise_class != "thread" and len(source.path) != _ENTRY_STEPS
    kind = "" if called else entry_kind(source)
    return KINDS.index(kind) if kind else -1


@dataclass(frozen=True, slots=True)
class Entry:
    """The entry cost of one kind, and how often it was seen."""

    cost: EntryCost
    samples: int


def entry_costs(contents: GapContents) -> dict[str, Entry]:
    """Entry costs by kind. Interrupts that cannot be told are taken from the nearest kind; what
    there is nothing near to is left out."""
    found = _measured(contents)
    entries = {kind: _entry(found, kind) for kind in KINDS if kind in found}
    for kind, nearest in _NEAREST.items():
        source = next((one for one in nearest if one in found), None)
        if kind not in found and source:
            entries[kind] = Entry(replace(entries[source].cost, source=taken_from(source)), 0)
    return {kind: entries[kind] for kind in KINDS if kind in entries}


@dataclass(frozen=True, slots=True)
class _Samples:
    """What each gap says that an entry of one kind costs, and whether that was a cold one."""

    ns: Times
    is_cold: Which

    def less(self, ns: int) -> _Samples:
        """Without the cost of something else in the gap."""
        return _Samples(self.ns - ns, self.is_cold)

    @property
    def cold_more_ns(self) -> float | None:
        """None: too few are cold, or too few are not."""
        cold, warm = self.ns[self.is_cold], self.ns[~self.is_cold]
        if min(len(cold), len(warm)) < MIN_SAMPLES:
            return None
        return max(_mean(cold) - _mean(warm), 0.0)


_Found = dict[str, _Samples]


def _measured(contents: GapContents) -> _Found:
    """By kind."""
    found: _Found = {}
    for kind in (*_INTERRUPTS, _FAULT):
        _keep(found, kind, _seen(contents, {kind: 1}))
    _keep(found, _SWITCH, _beyond_interrupt(contents, found, switch=1))
    softirqs = _beyond_interrupt(contents, found, softirq=1)
    if _SWITCH not in found:
        _keep(found, _SOFTIRQ, softirqs)
        return found
    switch_ns = round(_mean(found[_SWITCH].ns))
    both = _beyond_interrupt(contents, found, softirq=1, switch=1).less(switch_ns)
    _keep(found, _SOFTIRQ, _joined([softirqs, both]))
    for kind in _INTERRUPTS:
        if kind not in found:
            _keep(found, kind, _seen(contents, {kind: 1, _SWITCH: 1}).less(switch_ns))
    return found


def _seen(contents: GapContents, counts: dict[str, int]) -> _Samples:
    which = contents.holding(**counts)
    return _Samples(contents.excess_ns[which], contents.is_cold[which])


def _beyond_interrupt(contents: GapContents, found: _Found, **others: int) -> _Samples:
    """What is left of gaps that hold one interrupt of a measured kind and ``others``."""
    left = []
    for kind in _INTERRUPTS:
        if kind in found:
            both = _seen(contents, {kind: 1, **others})
            rest_ns = _warm(both, _more_ns(found, kind)) - round(_mean(_warm_of(found, kind)))
            left.append(_Samples(rest_ns, np.zeros(len(rest_ns), np.bool_)))
    return _joined(left)


def _joined(samples: Sequence[_Samples]) -> _Samples:
    return _Samples(
        np.concatenate([_NO_TIMES, *(one.ns for one in samples)]),
        np.concatenate([NO_GAPS.is_cold, *(one.is_cold for one in samples)]),
    )


def _keep(found: _Found, kind: str, samples: _Samples) -> None:
    if len(samples.ns) >= MIN_SAMPLES:
        found[kind] = samples


def _more_ns(found: _Found, kind: str) -> int:
    """What a cold entry takes more: that of the nearest kind, where it cannot be told; 0 without
    one."""
    if kind in _NEVER_COLD:
        return 0
    for one in (kind, *_NEAREST[kind]):
        more_ns = found[one].cold_more_ns if one in found else None
        if more_ns is not None:
            return round(more_ns)
    return 0


def _warm(samples: _Samples, more_ns: int) -> Times:
    """As if none of them had been cold."""
    warm: Times = samples.ns - samples.is_cold * more_ns
    return warm


def _warm_of(found: _Found, kind: str) -> Times:
    return _warm(found[kind], _more_ns(found, kind))


def _mean(samples: Times) -> float:
    """Of MIN_SAMPLES or more."""
    kept = len(samples) - max(-(-len(samples) // _LONGEST_SHARE), _LONGEST_LEAST)
    return float(np.partition(samples, kept - 1)[:kept].mean())


def _entry(found: _Found, kind: str) -> Entry:
    samples = _warm_of(found, kind)
    mean_ns = max(round(_mean(samples)), 0)
    low, high = (max(round(float(ns)), 0) for ns in np.percentile(samples, (10, 90)))
    cost = EntryCost(
        mean_ns, min(low, mean_ns), max(high, mean_ns), MEASURED, _more_ns(found, kind)
    )
    return Entry(cost, len(samples))
