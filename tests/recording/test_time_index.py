"""Tables by time give what a look at every row gives."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from noisetop.events.interruption import Interruptions
from noisetop.recording.time_index import TimeIndex
from tests.recordings import START_NS, interruption, nested_tables, table


@given(
    nested_tables(),
    st.lists(st.integers(0, 20), max_size=3),
    st.integers(0, 300_000),
    st.integers(0, 300_000),
)
def test_what_ended_between_two_moments(
    rows: Interruptions, cuts: list[int], one: int, other: int
) -> None:
    index = TimeIndex()
    places = [0, *sorted(cuts), len(rows)]
    for first, last in pairwise(places):
        index.add(rows[first:last])
    after, until = START_NS + min(one, other), START_NS + max(one, other)
    ends = rows["start_ns"] + rows["gross_ns"]
    expected = rows[(ends > after) & (ends <= until)]
    found = [row for part in index.ended(after, until) for row in part.tolist()]
    assert found == expected.tolist()


def test_a_thread_that_goes_on_is_told_as_it_was() -> None:
    """Source 4 is a thread, 0 a timer, 5 an NMI in it."""
    index = TimeIndex()
    index.add(
        table(
            interruption(200, 100, source=0, net_ns=90),
            interruption(250, 10, source=5),
            interruption(500, 50, source=0),
            interruption(590, 40, source=0),
            interruption(650, 10, source=0, cpu=3),
            interruption(100, 900, source=4, net_ns=710),
        )
    )
    for at, net_ns in ((150, 50), (220, 100), (400, 200), (600, 340), (900, 610)):
        [row] = index.going_on(START_NS + at)
        assert (int(row["gross_ns"]), int(row["net_ns"])) == (at - 100, net_ns)
    assert len(index.going_on(START_NS + 100)) == len(index.going_on(START_NS + 1_000)) == 0
    assert TimeIndex().until_ns == 0


def test_what_began_before_the_thread_interrupts_it_all_the_same() -> None:
    """A wait begins in an interrupt, and with it the thread that delays the victim."""
    index = TimeIndex()
    index.add(
        table(
            interruption(100, 100, source=0),
            interruption(150, 80, source=4, net_ns=30),
        )
    )
    for at, net_ns in ((180, 0), (210, 10)):
        [row] = index.going_on(START_NS + at)
        assert (int(row["gross_ns"]), int(row["net_ns"])) == (at - 150, net_ns)
