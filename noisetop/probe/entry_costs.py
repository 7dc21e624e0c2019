"""Entry costs from gaps and events: docs/cost.md has the formula.

A gap is as long as the net time of its events and the entry costs of its outermost ones together.
Gaps that hold as little as possible tell what each kind of entry costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
_ENTRY_STEPS = 2
_SOFTIRQ, _SWITCH, _FAULT = "softirq", "switch", "fault"


@dataclass(frozen=True, slots=True)
class GapContents:
    """The gaps of which every event is known; a row each."""

    length_ns: Times
    event_ns: Times
    """Net time of all events."""
    counts: npt.NDArray[np.int64]
    """Outermost events by kind, in the order of KINDS."""

    def joined(self, other: GapContents) -> GapContents:
        """Both together."""
        return GapContents(
            np.concatenate([self.length_ns, other.length_ns]),
            np.concatenate([self.event_ns, other.event_ns]),
            np.concatenate([self.counts, other.counts]),
        )

    def chosen(self, which: npt.NDArray[np.bool_]) -> GapContents:
        """Some of them."""
        return GapContents(self.length_ns[which], self.event_ns[which], self.counts[which])

    @property
    def excess_ns(self) -> Times:
        """What entries cost."""
        return self.length_ns - self.event_ns

    def holding(self, **counts: int) -> npt.NDArray[np.bool_]:
        """Gaps that hold just so many events of each kind, and none of the kinds not named."""
        wanted = np.array([counts.get(kind, 0) for kind in KINDS])
        same: npt.NDArray[np.bool_] = (self.counts == wanted).all(1)
        return same


_NO_TIMES = np.zeros(0, np.int64)
NO_GAPS = GapContents(_NO_TIMES, _NO_TIMES, np.zeros((0, len(KINDS)), np.int64))


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
    handled = explanation.inside["flags"] & Flag.UNHANDLED == 0
    outermost = (start >= reach[: len(start)]) & (number >= 0) & handled
    counts = np.zeros((len(gaps.start_ns), len(KINDS)), np.int64)
    np.add.at(counts, (explanation.gap_of[outermost], number[outermost]), 1)
    known = ~explanation.touched & (counts.sum(1) > 0)
    return GapContents(gaps.length_ns, explanation.event_ns, counts).chosen(known)


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
    entries = {kind: _entry(found[kind]) for kind in KINDS if kind in found}
    for kind, nearest in _NEAREST.items():
        source = next((one for one in nearest if one in found), None)
        if kind not in found and source:
            cost = entries[source].cost
            near = EntryCost(cost.entry_ns, cost.low_ns, cost.high_ns, taken_from(source))
            entries[kind] = Entry(near, 0)
    return {kind: entries[kind] for kind in KINDS if kind in entries}


def _measured(contents: GapContents) -> dict[str, Times]:
    """What each gap says that an entry costs, by kind."""
    found: dict[str, Times] = {}
    for kind in (*_INTERRUPTS, _FAULT):
        _keep(found, kind, contents.excess_ns[contents.holding(**{kind: 1})])
    _keep(found, _SWITCH, _beyond_interrupt(contents, found, switch=1))
    softirqs = _beyond_interrupt(contents, found, softirq=1)
    if _SWITCH not in found:
        _keep(found, _SOFTIRQ, softirqs)
        return found
    switch_ns = _median(found[_SWITCH])
    both = _beyond_interrupt(contents, found, softirq=1, switch=1) - switch_ns
    _keep(found, _SOFTIRQ, np.concatenate([softirqs, both]))
    for kind in _INTERRUPTS:
        if kind not in found:
            both = contents.excess_ns[contents.holding(**{kind: 1, _SWITCH: 1})]
            _keep(found, kind, both - switch_ns)
    return found


def _beyond_interrupt(
    contents: GapContents, found: dict[str, Times], **others: int
) -> npt.NDArray[np.int64]:
    """What is left of gaps that hold one interrupt of a measured kind and ``others``."""
    left = [
        contents.excess_ns[contents.holding(**{kind: 1}, **others)] - _median(found[kind])
        for kind in _INTERRUPTS
        if kind in found
    ]
    return np.concatenate([*left, np.zeros(0, np.int64)])


def _keep(found: dict[str, Times], kind: str, samples: Times) -> None:
    if len(samples) >= MIN_SAMPLES:
        found[kind] = samples


def _median(samples: Times) -> int:
    return round(float(np.median(samples)))


def _entry(samples: Times) -> Entry:
    low, middle, high = (max(round(float(ns)), 0) for ns in np.percentile(samples, (10, 50, 90)))
    return Entry(EntryCost(middle, low, high, MEASURED), len(samples))
