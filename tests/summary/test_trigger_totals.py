from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from noisetop.events.trigger import Trigger
from noisetop.summary.trigger_totals import (
    KEPT,
    OTHERS,
    TriggerSummary,
    TriggerTotals,
    largest_first,
)

MANY = [Trigger(), *(Trigger("task", tid) for tid in range(1, 200))]
ROWS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 199), st.integers(0, 1 << 40)))


def totals(*parts: list[tuple[int, int, int]]) -> TriggerTotals:
    made = TriggerTotals(MANY)
    for part in parts:
        row, trigger, net = np.array(part, np.uint64).reshape(-1, 3).T
        made.add(row.astype(np.uint32), trigger.astype(np.uint32), net, net % 2 > 0, net % 4 > 2)
    return made


@given(ROWS, st.integers(0, 50))
def test_the_triggers_of_a_source_add_up_to_it_however_tables_are_cut(
    rows: list[tuple[int, int, int]], cut: int
) -> None:
    whole, parts = totals(rows), totals(rows[:cut], rows[cut:])
    for row in (0, 1):
        nets = [net for of, _, net in rows if of == row]
        found = whole.by_row().get(row, ())
        assert found == parts.by_row().get(row, ())
        assert sum(one.count for one in found) == len(nets)
        assert sum(one.net_ns for one in found) == sum(nets)
        assert max((one.max_ns for one in found), default=0) == max(nets, default=0)
        assert sum(one.entries for one in found) == sum(net % 2 for net in nets)
        assert sum(one.cold for one in found) == sum(net % 4 == 3 for net in nets)
        assert len(found) <= KEPT + 1


def test_more_triggers_than_are_kept_become_one() -> None:
    found = {one.trigger: one for one in totals([(0, at, 1 + at) for at in range(200)]).by_row()[0]}
    rest = range(KEPT, 200)
    assert len(found) == KEPT + 1
    assert found[OTHERS] == TriggerSummary(
        OTHERS, len(rest), sum(1 + at for at in rest), 200, entries=68, cold=34
    )
    assert found[Trigger()] == TriggerSummary(Trigger(), 1, 1, 1, entries=1)


def test_stacks_do_not_tell_triggers_apart() -> None:
    made = TriggerTotals([Trigger(), Trigger("a", 1, stack=3), Trigger("a", 1, stack=4)])
    none = np.zeros(2, bool)
    made.add(np.zeros(2, np.uint32), np.array([1, 2], np.uint32), np.array([5, 6]), none, none)
    assert made.by_row()[0] == (TriggerSummary(Trigger("a", 1), 2, 11, 6),)


def test_merging_keeps_the_largest_and_the_sum() -> None:
    parts = [TriggerSummary(one, 1, net, net) for net, one in enumerate(MANY, 1)]
    merged = largest_first([*parts, *parts, TriggerSummary(OTHERS, 3, 7, 5)])
    assert sum(one.net_ns for one in merged) == 2 * sum(one.net_ns for one in parts) + 7
    assert len(merged) == KEPT + 1
    assert TriggerSummary(MANY[-1], 2, 400, 200) in merged
