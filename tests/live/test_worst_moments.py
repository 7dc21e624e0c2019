"""The worst moments of a running trace are those of its recording."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from noisetop.events.interruption import Interruptions, Source
from noisetop.events.task_directory import TaskDirectory
from noisetop.events.task_names import TaskInfo
from noisetop.live.worst_moments import LIVE_KEPT, PARTS_KEPT, WorstMoments
from noisetop.recording.open import open_recording
from noisetop.summary.worst import summarize_with_worst
from tests.recordings import DATA, SOURCES, TRIGGERS, interruption, nested_tables, recording, table

_CUTS = st.lists(st.integers(0, 60), max_size=5)


def _add(moments: WorstMoments, table: Interruptions, sources: Sequence[Source] = SOURCES) -> None:
    moments.add(table, sources, TRIGGERS, {}, TaskDirectory())


@given(nested_tables(), _CUTS)
def test_they_are_those_of_the_recording(rows: Interruptions, cuts: list[int]) -> None:
    moments = WorstMoments()
    for part in np.split(rows, sorted(cuts)):
        _add(moments, part)
        moments.worst(SOURCES, TRIGGERS)  # a look takes nothing away
    _, expected = summarize_with_worst(recording(rows), 50, most_parts=PARTS_KEPT)
    assert moments.worst(SOURCES, TRIGGERS) == list(expected)


def test_they_outlast_the_numbers_of_their_sources() -> None:
    recorded = open_recording(DATA / "noisy.noisetop")
    tables = list(recorded.all_chunks())
    rows = np.concatenate(tables)
    moments = WorstMoments()
    half = len(rows) // 2
    _add(moments, rows[:half], recorded.sources)
    moments.forget(recorded.sources, recorded.triggers)
    before = moments.worst([], [])
    assert before
    assert all(one.parts for one in before)
    rest = rows[half:].copy()
    turned = list(reversed(recorded.sources))
    rest["source"] = len(turned) - 1 - rest["source"]
    _add(moments, rest, turned)
    found = moments.worst(turned, recorded.triggers)
    _, expected = summarize_with_worst(recorded, 50, most_parts=PARTS_KEPT)
    assert [one.interval for one in found] == [one.interval for one in expected]
    # One may lie on both sides of the middle.
    assert sum(one == other for one, other in zip(found, expected, strict=True)) >= 49


def test_rows_that_wait_are_bounded() -> None:
    recorded = open_recording(DATA / "noisy.noisetop")
    tables = np.array_split(np.concatenate(list(recorded.all_chunks())), 40)
    free, bound = WorstMoments(), WorstMoments()
    bound._parts.most_rows = 2 * len(tables[0])
    for part in tables:
        _add(free, part, recorded.sources)
        _add(bound, part, recorded.sources)
        assert bound._parts._rows <= bound._parts.most_rows
    found, expected = (one.worst(recorded.sources, recorded.triggers) for one in (bound, free))
    assert [one.interval for one in found] == [one.interval for one in expected]
    assert sum(bool(one.parts) for one in found) >= len(found) - 1


def test_contention_is_no_moment() -> None:
    """CPU 2 belongs to nobody."""
    turns = [interruption(at * 1_000_000, 500_000, source=4, tid=200) for at in range(60)]
    rows = table(*turns, interruption(900_000_000, 2_000, source=2))
    who = TaskDirectory({200: "program"}, {200: TaskInfo(200, 1, kernel=False, cgroup=0)})
    moments = WorstMoments()
    moments.add(rows, SOURCES, TRIGGERS, {2: None}, who)
    assert [one.interval.noise_ns for one in moments.worst(SOURCES, TRIGGERS)] == [2_000]


def test_what_turns_out_to_be_contention_leaves_its_place() -> None:
    turns = [interruption(at * 1_000_000, 500_000, source=4, tid=200) for at in range(60)]
    disk = interruption(500_000_000, 600_000, source=2)
    who = TaskDirectory({200: "program"}, {200: TaskInfo(200, 1, kernel=False, cgroup=0)})
    moments = WorstMoments()
    moments.add(table(*turns, disk), SOURCES, TRIGGERS, {}, who)
    assert len(moments.worst(SOURCES, TRIGGERS)) == LIVE_KEPT
    later = table(interruption(900_000_000, 2_000, source=2))
    moments.add(later, SOURCES, TRIGGERS, {2: None}, who)
    found = [one.interval.noise_ns for one in moments.worst(SOURCES, TRIGGERS)]
    assert found == [600_000, 2_000]
