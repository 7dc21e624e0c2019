"""What a sample or a key makes of the state, without a terminal."""

from __future__ import annotations

from noisetop.tui.history import History
from noisetop.tui.state import State
from tests.builders import SECOND_NS
from tests.tui.driving import busy


def test_a_sample_is_shown_as_its_total_or_its_last_interval() -> None:
    one = busy(3)
    state = State().with_sample(one, 3 * SECOND_NS, History())
    assert state.period is not None
    assert state.period.summary is one.total
    assert state.period.everywhere == one.total.all_cpus()
    state = state.with_other_period()
    assert state.period is not None
    assert state.period.summary is one.interval


def test_paused_tables_keep_their_period() -> None:
    first, second = busy(1), busy(2)
    live, frozen = History(), History()
    state = State().with_sample(first, SECOND_NS, live).with_pause(frozen)
    assert state.period is not None
    assert state.period.history is frozen
    newer = state.with_sample(second, 2 * SECOND_NS, live)
    assert newer.period is state.period
    assert (newer.shown, newer.latest) == (first, second)
    going_on = newer.with_pause(live)
    assert going_on.shown is second
    assert going_on.period is not None
    assert going_on.period.history is live


def test_there_is_nothing_to_pause_before_the_first_sample() -> None:
    state = State()
    assert state.with_pause(History()) is state


def test_a_reset_keeps_what_was_chosen() -> None:
    state = State("CPUs 1-2", SECOND_NS, last_only=True).with_sample(busy(), 1, History())
    again = state.with_pause(History()).after_reset()
    assert (again.title, again.since, again.last_only) == ("CPUs 1-2", "reset", True)
    assert not again.paused
    assert (again.period, again.latest, again.shown) == (None, None, None)
