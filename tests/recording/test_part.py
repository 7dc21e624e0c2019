"""Parts of a recording: together they are the whole."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisetop.counters.isolation_changes import ISOLATION, IsolationChange
from noisetop.counters.losses import LOSSES, Losses
from noisetop.counters.overhead import OVERHEAD
from noisetop.errors import UsageError
from noisetop.events.interruption import Flag, Interruptions
from noisetop.recording.part import part_of
from noisetop.summary.recorded import summary_of
from tests.builders import side_figures
from tests.recordings import START_NS, all_rows, interruption, nested_tables, recording, table

DURATION_NS = 1_000_000_000


@given(nested_tables(), st.lists(st.integers(1, 400_000), min_size=1, max_size=4, unique=True))
def test_parts_add_up(rows: Interruptions, cuts: list[int]) -> None:
    whole = recording(rows)
    moments = [0, *sorted(cuts), DURATION_NS]
    parts = [part_of(whole, *pair) for pair in itertools.pairwise(moments)]
    assert sum(part.duration_ns for part in parts) == whole.duration_ns
    assert sum(summary_of(part).noise_ns for part in parts) == summary_of(whole).noise_ns
    for part in parts:
        found = all_rows(part)
        assert (found["start_ns"] >= part.start_ns).all()
        assert (found["start_ns"] + found["gross_ns"] <= part.end_ns).all()
        assert (found["net_ns"] <= found["gross_ns"]).all()
        assert part.damage == whole.damage


def test_an_entry_is_in_the_part_in_which_it_was() -> None:
    whole = recording(table(interruption(100, 200, net_ns=100, flags=int(Flag.ENTRY))))
    before, after = (all_rows(part_of(whole, *cut)) for cut in ((0, 150), (150, None)))
    assert (before["net_ns"][0], after["net_ns"][0]) == (25, 75)
    assert before["flags"][0] & Flag.ENTRY
    assert not after["flags"][0] & Flag.ENTRY


def test_what_is_known_of_a_part_and_what_is_not() -> None:
    change = IsolationChange(START_NS + 500, "/proc/irq/1/smp_affinity_list", "2", "0")
    counters = side_figures(losses=Losses({2: {"ring_full": 3}}), isolation=(change,))
    whole = recording(table(), counters=counters)
    before, after = part_of(whole, 0, 400), part_of(whole, 400, None)
    assert before.counters.of(ISOLATION) == ()
    assert after.counters.of(ISOLATION) == (change,)
    assert before.counters.of(LOSSES) == whole.counters.of(LOSSES)
    assert before.counters.of(OVERHEAD) == OVERHEAD.none()


@pytest.mark.parametrize("cut", [(500, 500), (700, 300), (DURATION_NS, None)])
def test_a_part_that_is_none(cut: tuple[int, int | None]) -> None:
    with pytest.raises(UsageError, match="--from comes before --to"):
        part_of(recording(table()), *cut)
