"""Entry costs come out of made-up gaps as they were put in."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

from noisetop.counters.calibration import KINDS, MEASURED
from noisetop.events.interruption import INTERRUPTION, SIDE_LEVEL, Flag, Interruptions, Source
from noisetop.gaps.gaps import Gaps
from noisetop.probe.entry_costs import (
    MIN_SAMPLES,
    NO_GAPS,
    GapContents,
    entry_costs,
    gap_contents,
    own_events,
)

SOURCES = {
    "timer": Source(("timer", "local_timer")),
    "callback": Source(("timer", "local_timer", "hrtimer_wakeup")),
    "call_function": Source(("ipi", "call_function_single")),
    "reschedule": Source(("ipi", "reschedule")),
    "irq_work": Source(("ipi", "irq_work")),
    "irq": Source(("irq", "36 virtio1-req.0")),
    "softirq": Source(("softirq", "TIMER")),
    "switch": Source(("thread", "intruder")),
    "fault": Source(("fault", "minor")),
    "asleep": Source(("fault", "minor", "asleep")),
    "nmi": Source(("nmi", "perf_event_nmi_handler")),
}
NAMES = list(SOURCES)
COST_NS = {
    "timer": 5_000,
    "call_function": 6_000,
    "reschedule": 5_500,
    "softirq": 400,
    "switch": 1_300,
    "fault": 900,
    "irq": 0,
    "irq_work": 0,
    "nmi": 0,
}
NET_NS = 700
TID, OTHER = 100, 200


def contents(*kinds: tuple[str, ...], extra_ns: int = 0, cold: bool = False) -> GapContents:
    """A gap for each, with these events one after the other, of which the first one's entry may be
    cold."""
    rows, spans, now = [], [], 1_000_000
    for events in kinds:
        begin = now
        now += sum(COST_NS[kind] for kind in events) + extra_ns
        for kind in events:
            rows.append((kind, now, NET_NS))
            now += NET_NS
        spans.append((begin, now))
        now += 10_000
    table = events_of(rows)
    if cold:
        firsts = np.cumsum([0, *map(len, kinds[:-1])])
        table["flags"][firsts] = Flag.ENTRY | Flag.COLD
    return gap_contents(gaps_of(spans), table, list(SOURCES.values()))


def gaps_of(spans: Iterable[tuple[int, int]]) -> Gaps:
    start, end = np.array(list(spans), np.int64).reshape(-1, 2).T
    return Gaps(start, end, 0)


def events_of(rows: Iterable[tuple[str, int, int]], tid: int = TID) -> Interruptions:
    """(what, start, length)."""
    listed = list(rows)
    table = np.zeros(len(listed), INTERRUPTION)
    for row, (kind, start_ns, length_ns) in zip(table, listed, strict=True):
        row["source"], row["start_ns"], row["tid"] = NAMES.index(kind), start_ns, tid
        row["gross_ns"] = row["net_ns"] = length_ns
        row["level"] = SIDE_LEVEL if kind in ("fault", "asleep") else 4
    return table


def costs(found: GapContents) -> dict[str, int]:
    return {kind: entry.cost.entry_ns for kind, entry in entry_costs(found).items()}


ALONE = [("timer",), ("call_function",), ("fault",)]


def test_what_was_put_in_comes_out() -> None:
    gaps = [*ALONE, ("timer", "switch"), ("reschedule", "switch"), ("timer", "softirq")]
    found = entry_costs(contents(*gaps * MIN_SAMPLES))
    for kind in ("timer", "call_function", "reschedule", "softirq", "switch", "fault"):
        assert found[kind].cost.entry_ns == COST_NS[kind], kind
        assert found[kind].cost.source == MEASURED
        assert found[kind].samples == MIN_SAMPLES


def test_a_softirq_that_wakes_a_thread() -> None:
    gaps = [("timer",), ("timer", "switch"), ("timer", "softirq", "switch")]
    assert costs(contents(*gaps * MIN_SAMPLES))["softirq"] == COST_NS["softirq"]


def test_what_was_not_seen_is_taken_from_the_nearest() -> None:
    found = entry_costs(contents(*ALONE * MIN_SAMPLES))
    assert found["irq"].cost.entry_ns == COST_NS["call_function"]
    assert found["irq"].cost.source == "from call_function"
    assert found["irq"].samples == 0
    assert found["nmi"].cost.source == "from timer"
    assert "softirq" not in found  # there is nothing near to that
    only_timers = entry_costs(contents(*[("timer",)] * MIN_SAMPLES))
    assert {kind: entry.cost.source for kind, entry in only_timers.items()} == {
        kind: MEASURED if kind == "timer" else "from timer"
        for kind in ("irq", "timer", "reschedule", "call_function", "irq_work", "nmi")
    }


def test_a_kind_that_was_seen_too_rarely_is_not_measured() -> None:
    gaps = [("timer",)] * MIN_SAMPLES + [("irq",)] * (MIN_SAMPLES - 1)
    assert entry_costs(contents(*gaps))["irq"].cost.source == "from timer"


def test_nothing_seen_gives_nothing() -> None:
    assert entry_costs(NO_GAPS) == {}
    assert entry_costs(contents()) == {}


def test_the_spread_is_that_of_the_samples() -> None:
    slow = contents(*[("timer",)] * 20, extra_ns=2_000)
    found = entry_costs(contents(*[("timer",)] * 30).joined(slow))["timer"].cost
    assert (found.low_ns, found.high_ns) == (5_000, 7_000)
    assert found.entry_ns == (30 * 5_000 + 18 * 7_000) // 48  # without the two longest


def cold_and_warm(*kinds: tuple[str, ...], more_ns: int) -> GapContents:
    """Each of them as often cold, when it takes so much more, as not."""
    warm = contents(*kinds * MIN_SAMPLES)
    return warm.joined(contents(*kinds * MIN_SAMPLES, extra_ns=more_ns, cold=True))


def test_a_cold_entry_takes_more() -> None:
    mixed = cold_and_warm(("timer",), ("timer", "switch"), ("timer", "softirq"), more_ns=900)
    mixed = mixed.joined(contents(*[("fault",)] * MIN_SAMPLES))
    found = entry_costs(mixed)
    for kind, more_ns in {"timer": 900, "switch": 0, "softirq": 0, "fault": 0, "irq": 900}.items():
        assert found[kind].cost.cold_more_ns == more_ns, kind
    for kind in ("timer", "switch", "softirq"):
        assert found[kind].cost.entry_ns == COST_NS[kind], kind
        assert found[kind].samples == 2 * MIN_SAMPLES


def test_a_kind_that_is_always_cold_is_as_much_so_as_the_nearest() -> None:
    calls = contents(*[("call_function",)] * MIN_SAMPLES, extra_ns=900, cold=True)
    cost = entry_costs(cold_and_warm(("timer",), more_ns=900).joined(calls))["call_function"].cost
    assert (cost.entry_ns, cost.cold_more_ns) == (COST_NS["call_function"], 900)


def test_a_cold_entry_never_takes_less() -> None:
    cost = entry_costs(cold_and_warm(("timer",), more_ns=-900))["timer"].cost
    assert cost.cold_more_ns == 0


def test_costs_are_never_below_zero() -> None:
    gaps = contents(*[("timer",)] * MIN_SAMPLES)
    switches = contents(*[("timer", "switch")] * MIN_SAMPLES, extra_ns=-2_000)
    assert costs(gaps.joined(switches))["switch"] == 0


def test_what_lies_inside_of_another_is_no_entry() -> None:
    nested = events_of([("timer", 5_000, 2_000), ("callback", 5_500, 1_000), ("nmi", 6_000, 100)])
    found = gap_contents(gaps_of([(0, 8_000)]), nested, list(SOURCES.values()))
    assert found.counts.sum() == 1
    assert found.holding(timer=1).all()


def test_a_shared_line_is_one_entry() -> None:
    events = events_of([("irq", 5_000, 200), ("irq", 5_300, 500)])
    events["flags"][0] = Flag.UNHANDLED
    found = gap_contents(gaps_of([(0, 8_000)]), events, list(SOURCES.values()))
    assert found.holding(irq=1).all()
    assert found.excess_ns.tolist() == [8_000 - 700]


@pytest.mark.parametrize("reaching", [(7_000, 2_000), (-500, 1_000)], ids=["end", "begin"])
def test_a_gap_that_an_event_reaches_out_of_tells_nothing(reaching: tuple[int, int]) -> None:
    events = events_of([("timer", 13_000, 2_000), ("switch", 10_000 + reaching[0], reaching[1])])
    found = gap_contents(gaps_of([(10_000, 18_000)]), events, list(SOURCES.values()))
    assert len(found.excess_ns) == 0


def test_gaps_without_events_tell_nothing() -> None:
    found = gap_contents(gaps_of([(0, 8_000)]), events_of([]), list(SOURCES.values()))
    assert len(found.excess_ns) == 0


def test_own_runs_and_the_faults_of_others_are_left_out() -> None:
    own = events_of([("switch", 0, 100), ("timer", 200, 10), ("fault", 300, 10)])
    others = events_of([("switch", 400, 100), ("timer", 600, 10), ("fault", 700, 10)], OTHER)
    idle = events_of([("switch", 800, 100)], 0)
    kept = own_events(np.concatenate([own, others, idle]), list(SOURCES.values()), TID)
    assert [(NAMES[row["source"]], row["tid"]) for row in kept] == [
        ("timer", TID),
        ("fault", TID),
        ("switch", OTHER),
        ("timer", OTHER),
    ]
    assert len(own_events(events_of([]), [], TID)) == 0


def test_every_kind_is_found() -> None:
    for kind in KINDS:
        row = events_of([(kind, 5_000, 700)])
        found = gap_contents(gaps_of([(0, 8_000)]), row, list(SOURCES.values()))
        assert found.holding(**{kind: 1}).all(), kind
        assert len(found.length_ns) == 1


@pytest.mark.parametrize("name", ["callback", "asleep"])
def test_what_is_called_and_what_sleeps_is_no_entry(name: str) -> None:
    row = events_of([(name, 5_000, 700)])
    assert not len(gap_contents(gaps_of([(0, 8_000)]), row, list(SOURCES.values())).length_ns)
