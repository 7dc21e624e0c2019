from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from noisetop.events.interruption import Flag
from noisetop.events.layout import Events
from noisetop.flight_recorder.closed_intervals import IntervalFinder
from noisetop.summary.max_single import GAP_NS, LongestIntervals
from tests.recordings import START_NS, events, layout

STEPS = st.lists(
    st.tuples(st.integers(0, 3 * GAP_NS), st.integers(1, 5_000), st.sampled_from([2, 3])),
    max_size=40,
)


def outermost(steps: Sequence[tuple[int, int, int]]) -> Events:
    rows, now = [], {2: START_NS, 3: START_NS}
    for gap, gross, cpu in steps:
        start = now[cpu] + gap
        rows.append(
            {
                "source": "irq",
                "cpu": cpu,
                "start_ns": start,
                "gross_ns": gross,
                "net_ns": gross,
                "victim_tid": 7,
                "level": layout().levels["IRQ"],
                "flags": Flag.OUTERMOST,
            }
        )
        now[cpu] = start + gross
    return events(*rows)


@given(STEPS, st.lists(st.integers(0, 40), max_size=4))
def test_they_are_those_of_a_summary_however_the_records_come(
    steps: list[tuple[int, int, int]], cuts: list[int]
) -> None:
    rows = outermost(steps)
    finder, found = IntervalFinder(layout()), []
    for part in np.split(rows, sorted(cuts)):
        # Up to the newest record all that has ended is there, CPU by CPU.
        ends = [part["start_ns"][part["cpu"] == cpu][-1:] for cpu in (2, 3)]
        until = min((int(end[0]) for end in ends if len(end)), default=0)
        found += finder.add([part], min(until, START_NS)).tolist()
    found += finder.add([rows[:0]], 2**62).tolist()
    intervals = LongestIntervals(max(len(steps), 1))
    intervals.add(rows)
    wanted = [(one.cpu, one.start_ns, one.end_ns, one.noise_ns) for one in intervals.worst()]
    assert sorted(row[:4] for row in found) == sorted(wanted)
    assert sum(row[4] for row in found) == len(rows)


def test_an_interval_that_may_go_on_waits_for_its_end() -> None:
    rows = outermost([(0, 1_000, 2), (GAP_NS - 1, 1_000, 2)])
    finder = IntervalFinder(layout())
    end = int(rows["start_ns"][0] + rows["gross_ns"][0])
    assert not len(finder.add([rows[:1]], end + GAP_NS - 1))
    assert not len(finder.add([rows[1:]], end + 1_500))
    [one] = finder.add([rows[:0]], end + 1_000 + 2 * GAP_NS)
    assert (one["start_ns"], one["noise_ns"], one["count"]) == (START_NS, 2_000, 2)


def test_what_lost_nobody_time_is_none() -> None:
    rows = outermost([(0, 1_000, 2), (5_000, 1_000, 2), (5_000, 1_000, 2)])
    rows["victim_tid"][0] = 0
    rows["flags"][1] = 0
    assert len(IntervalFinder(layout()).add([rows], 2**62)) == 1
    assert len(IntervalFinder(layout(), nested=True).add([rows], 2**62)) == 2
