"""The join of gaps and events, on synthetic streams: nothing outside, nothing twice, sums whole."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from noisetop.events.interruption import INTERRUPTION, Interruptions, Source
from noisetop.gaps.accounted_time import AccountedTime, allot
from noisetop.gaps.explain import (
    MIN_CALIBRATION_GAPS,
    Explanation,
    explain,
)
from noisetop.gaps.gaps import Gaps

SOURCES = [
    Source(("timer", "local_timer")),
    Source(("timer", "local_timer", "tick_nohz_handler")),
    Source(("softirq", "TIMER")),
    Source(("irq", "36 virtio1-req.0")),
    Source(("thread", "kworker/1:1")),
]
TIMER, CALLBACK, SOFTIRQ, IRQ, THREAD = range(5)
START_NS = 1_000_000_000


def gaps_of(*spans: tuple[int, int]) -> Gaps:
    start = np.array([START_NS + a for a, _ in spans], np.int64)
    end = np.array([START_NS + b for _, b in spans], np.int64)
    active_ns = int(end[-1] - START_NS) if len(spans) else 0
    return Gaps(start, end, active_ns)


def events_of(*rows: tuple[int, int, int, int]) -> Interruptions:
    """(source, start, end, net), in any order."""
    table = np.zeros(len(rows), INTERRUPTION)
    for row, (source, start, end, net) in zip(table, rows, strict=True):
        row["source"], row["start_ns"] = source, START_NS + start
        row["gross_ns"], row["net_ns"] = end - start, net
    return table


def by_label(explanation: Explanation) -> dict[str, int]:
    return {" › ".join(part.path): part.ns for part in explanation.events}


def test_no_gap_and_no_event() -> None:
    told = explain(gaps_of(), events_of(), SOURCES)
    assert told.share() == 1.0
    assert told.unexplained_total_ns == 0
    assert told.events == told.entries == told.accounted == ()


def test_nested_parts_go_to_their_own_source() -> None:
    told = explain(
        gaps_of((0, 5_000)),
        events_of((TIMER, 1_000, 3_000, 1_500), (CALLBACK, 1_500, 2_000, 500)),
        SOURCES,
    )
    assert by_label(told) == {
        "timer › local_timer": 1_500,
        "timer › local_timer › tick_nohz_handler": 500,
    }
    assert told.unexplained_ns.tolist() == [3_000]


@pytest.mark.parametrize(
    ("start", "end"),
    [(-10, 50), (90, 110), (-10, 110), (200, 300)],
    ids=["before", "after", "around", "beside"],
)
def test_what_reaches_out_of_a_gap_does_not_explain_it(start: int, end: int) -> None:
    told = explain(gaps_of((0, 100)), events_of((TIMER, start, end, end - start)), SOURCES)
    assert told.events == ()
    assert (told.unmatched_count, told.unmatched_ns) == (1, end - start)
    assert told.unexplained_total_ns == 100


def test_what_is_nested_in_an_unmatched_event_stays_unmatched() -> None:
    events = events_of((TIMER, -10, 90, 80), (CALLBACK, 10, 30, 20))
    told = explain(gaps_of((0, 100)), events, SOURCES)
    assert told.events == ()
    assert told.unmatched_ns == 100


def alone(count: int, cost: int) -> tuple[list[tuple[int, int]], list[tuple[int, int, int, int]]]:
    """Gaps with one timer interrupt each that cost ``cost`` beyond their events."""
    spans, rows = [], []
    for i in range(count):
        at = i * 100_000
        spans.append((at, at + 1_000 + cost))
        rows.append((TIMER, at + cost // 2, at + cost // 2 + 1_000, 1_000))
    return spans, rows


def test_calibration_never_takes_more_than_its_own_median() -> None:
    spans, rows = alone(9, 400)
    spans += [(2_000_000 + i * 10_000, 2_000_000 + i * 10_000 + 5_000) for i in range(4)]
    rows += [(TIMER, a + 100, a + 1_100, 1_000) for a, _ in spans[9:]]
    told = explain(gaps_of(*spans), events_of(*rows), SOURCES)
    [cost] = told.entry_costs
    assert (cost.kind, cost.p50_ns, cost.gaps) == ("timer › local_timer", 400, 13)
    assert told.entry_ns.max() == 400
    assert told.unexplained_ns[9:].tolist() == [3_600] * 4


def test_few_gaps_are_no_calibration() -> None:
    spans, rows = alone(MIN_CALIBRATION_GAPS - 1, 400)
    told = explain(gaps_of(*spans), events_of(*rows), SOURCES)
    assert told.entry_costs == ()
    assert told.entry_ns.sum() == 0


def test_an_interrupt_with_its_softirq_is_a_kind_of_its_own() -> None:
    spans, rows = alone(6, 400)
    for i in range(6):
        at = 2_000_000 + i * 100_000
        spans.append((at, at + 3_000))
        rows += [(TIMER, at + 200, at + 1_200, 1_000), (SOFTIRQ, at + 1_500, at + 2_500, 1_000)]
    told = explain(gaps_of(*spans), events_of(*rows), SOURCES)
    costs = {cost.kind: cost.p50_ns for cost in told.entry_costs}
    assert costs == {"timer › local_timer": 400, "timer › local_timer + softirq": 1_000}
    assert told.unexplained_total_ns == 0


def test_an_interrupt_that_lets_a_thread_run_is_a_kind_of_its_own() -> None:
    spans, rows = [], []
    for at in range(0, 600_000, 100_000):
        spans.append((at, at + 9_000))
        rows += [(TIMER, at + 500, at + 1_500, 1_000), (SOFTIRQ, at + 1_600, at + 2_000, 400)]
        rows += [(THREAD, at + 2_500, at + 8_500, 6_000)]
    told = explain(gaps_of(*spans), events_of(*rows), SOURCES)
    [cost] = told.entry_costs
    assert (cost.kind, cost.p50_ns) == ("timer › local_timer + softirq + thread", 1_600)
    assert (cost.before_p50_ns, cost.after_p50_ns) == (500, 500)
    assert told.unexplained_total_ns == 0


def test_a_thread_after_a_thread_is_a_group_of_its_own() -> None:
    rows = [
        (TIMER, 500, 1_500, 1_000),
        (THREAD, 2_000, 3_000, 1_000),
        (THREAD, 3_100, 4_100, 1_000),
    ]
    spans = [(at, at + 5_000) for at in range(0, 600_000, 100_000)]
    events = [(source, at + a, at + b, net) for at, _ in spans for source, a, b, net in rows]
    told = explain(gaps_of(*spans), events_of(*events), SOURCES)
    assert told.entry_costs == ()
    assert told.unexplained_ns.tolist() == [2_000] * 6


def test_two_interrupts_in_a_gap_pay_twice_but_calibrate_nothing() -> None:
    spans, rows = alone(6, 400)
    spans.append((900_000, 910_000))
    rows += [(TIMER, 900_200, 901_200, 1_000), (TIMER, 905_000, 906_000, 1_000)]
    told = explain(gaps_of(*spans), events_of(*rows), SOURCES)
    assert told.entry_costs[0].gaps == 6
    assert told.entry_ns[-1] == 800


def test_accounted_time_takes_the_largest_rest_first_and_no_more_than_itself() -> None:
    gaps = gaps_of((0, 10_000), (20_000, 70_000), (100_000, 105_000), (900_000, 999_000))
    rest = gaps.length_ns
    window = AccountedTime("steal", START_NS, START_NS + 200_000, 55_000)
    taken = allot(gaps, rest, [window])["steal"]
    assert taken.tolist() == [5_000, 50_000, 0, 0]


def test_short_rests_are_no_steal() -> None:
    gaps = gaps_of((0, 900), (5_000, 7_000))
    taken = allot(gaps, gaps.length_ns, [AccountedTime("steal", 0, 2 * START_NS, 10_000)])["steal"]
    assert taken.tolist() == [0, 2_000]


def test_waits_that_no_event_tells_of_stay_unexplained_but_are_told() -> None:
    gaps = gaps_of((0, 50_000), (100_000, 180_000))
    events = events_of((THREAD, 105_000, 145_000, 40_000))
    waits = [(START_NS - 1, 0), (START_NS + 60_000, 0), (START_NS + 200_000, 70_000)]
    told = explain(gaps, events, SOURCES, waits=waits)
    assert told.unreported_ns.tolist() == [0, 30_000]
    assert told.unexplained_ns.tolist() == [50_000, 40_000]


def test_a_stop_does_not_take_what_the_scheduler_calls_waiting() -> None:
    gaps = gaps_of((0, 600_000))
    stop = AccountedTime("stopped", START_NS + 1_000, START_NS + 590_000, 589_000, is_stop=True)
    waits = [(START_NS - 1, 0), (START_NS + 700_000, 100_000)]
    told = explain(gaps, events_of(), SOURCES, [stop], waits)
    assert told.accounted_ns.tolist() == [500_000]


def test_a_stop_that_is_noticed_late_begins_with_its_gap() -> None:
    gaps = gaps_of((0, 600_000), (700_000, 900_000))
    late = AccountedTime("stopped", START_NS + 90_000, START_NS + 590_000, 500_000, is_stop=True)
    told = explain(gaps, events_of(), SOURCES, [late])
    assert told.accounted_ns.tolist() == [590_000, 0]
    beside = AccountedTime("stopped", START_NS + 650_000, START_NS + 690_000, 40_000, is_stop=True)
    assert explain(gaps, events_of(), SOURCES, [beside]).accounted_ns.sum() == 0


def test_a_throttling_is_a_wait_that_is_told() -> None:
    gaps = gaps_of((0, 80_000), (100_000, 120_000))
    throttled = AccountedTime("throttled", START_NS, START_NS + 90_000, 79_000, is_wait=True)
    waits = [(START_NS - 1, 0), (START_NS + 200_000, 94_000)]
    told = explain(gaps, events_of(), SOURCES, [throttled], waits)
    assert told.accounted_ns.tolist() == [79_000, 0]
    assert told.unreported_ns.sum() == 15_000


def test_a_throttling_belongs_to_the_gap_that_ends_with_it_or_later() -> None:
    gaps = gaps_of((0, 80_000), (100_000, 181_000), (200_000, 300_000))
    windows = [(0, 50_000, 0), (50_000, 110_000, 80_000), (110_000, 170_000, 80_000)]
    windows += [(170_000, 190_000, 0)]
    throttled = [
        AccountedTime("throttled", START_NS + a, START_NS + b, ns, is_wait=True)
        for a, b, ns in windows
    ]
    taken = allot(gaps, gaps.length_ns, throttled)["throttled"]
    assert taken.tolist() == [80_000, 80_000, 0]


@dataclass(frozen=True)
class Stream:
    gaps: Gaps
    events: Interruptions
    accounted: list[AccountedTime]
    waits: list[tuple[int, int]]


@st.composite
def streams(draw: st.DrawFn) -> Stream:
    """Gaps one after the other; in and between them interrupts with callbacks, nothing overlaps."""
    at = 0
    spans, rows = [], []
    for _ in range(draw(st.integers(0, 40))):
        at += draw(st.integers(1, 5_000))
        start = at
        for _ in range(draw(st.integers(0, 4))):
            at += draw(st.integers(0, 700))
            gross = draw(st.integers(1, 3_000))
            inner = draw(st.integers(0, gross))
            source = draw(st.sampled_from([TIMER, SOFTIRQ, IRQ, THREAD]))
            rows.append((source, at, at + gross, gross - inner))
            if inner:
                rows.append((CALLBACK, at + (gross - inner) // 2, 0, inner))
                rows[-1] = (CALLBACK, rows[-1][1], rows[-1][1] + inner, inner)
            at += gross
        at += draw(st.integers(0, 700))
        cut = draw(st.sampled_from([0, 0, 0, 1]))  # now and then an event sticks out
        if at > start + cut:
            spans.append((start, at - cut))
    moments = sorted(draw(st.lists(st.integers(0, at + 1), min_size=2, max_size=8)))
    delays = sorted(draw(st.lists(st.integers(0, 20_000), min_size=8, max_size=8)))
    accounted = [
        AccountedTime(
            name := draw(st.sampled_from(["steal", "throttled"])),
            START_NS + a,
            START_NS + b,
            draw(st.integers(0, 30_000)),
            least_ns=1,
            is_wait=name == "throttled",
        )
        for a, b in pairwise(moments)
    ]
    waits = [(START_NS + m, d) for m, d in zip(moments, delays, strict=False)]
    order = draw(st.permutations(range(len(rows))))
    return Stream(gaps_of(*spans), events_of(*[rows[i] for i in order]), accounted, waits)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(streams())
def test_parts_sum_to_the_whole_and_nothing_counts_twice(stream: Stream) -> None:
    gaps = stream.gaps
    told = explain(gaps, stream.events, SOURCES, stream.accounted, stream.waits)
    # Nothing outside of its gap.
    start = told.inside["start_ns"].astype(np.int64)
    end = start + told.inside["gross_ns"].astype(np.int64)
    assert (start >= gaps.start_ns[told.gap_of]).all()
    assert (end <= gaps.end_ns[told.gap_of]).all()
    # No event in two gaps, and none lost: each is inside once, or unmatched.
    assert len(told.inside) == len(told.gap_of) <= len(stream.events)
    net = int(stream.events["net_ns"].sum())
    assert int(told.event_ns.sum()) + told.unmatched_ns == net
    # The parts of each gap, and of all, sum to the whole; no part is below zero.
    parts = told.event_ns + told.entry_ns + told.accounted_ns
    assert (parts + told.unexplained_ns == gaps.length_ns).all()
    assert told.excess_ns == 0
    for part in (told.event_ns, told.entry_ns, told.accounted_ns, told.unexplained_ns):
        assert (part >= 0).all()
    assert (told.unreported_ns <= told.unexplained_ns).all()
    named = sum(p.ns for p in (*told.events, *told.entries, *told.accounted))
    assert named + told.unexplained_total_ns == gaps.lost_ns
    assert 0 <= told.share() <= 1
    # Calibration and accounted time stay within their bounds.
    costs = {cost.kind: cost.p50_ns for cost in told.entry_costs}
    for entry in told.entries:
        assert entry.ns <= entry.count * costs[entry.path[0]]
    assert told.accounted_ns.sum() <= sum(one.accounted_ns for one in stream.accounted)


def test_gaps_that_were_not_stored_stay_in_the_total() -> None:
    gaps = Gaps(np.array([0]), np.array([100]), 1_000, unstored_count=3, unstored_ns=300)
    told = explain(gaps, events_of(), SOURCES)
    assert gaps.lost_ns == 400
    assert told.unexplained_total_ns == 400
    assert told.share() == 0.0
