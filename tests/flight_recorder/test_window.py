from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from noisetop.events.layout import Events
from noisetop.events.records import split_in_blocks
from noisetop.flight_recorder.retained import Retained
from noisetop.flight_recorder.window import Chunk, Window
from tests.recordings import FLAGS, events, layout

SECOND = 1_000_000_000
RECORD = layout().event.itemsize


def chunk(number: int, count: int = 1) -> Chunk:
    """One second, with records in it."""
    rows = events(*({"source": "irq", "start_ns": number * SECOND + i} for i in range(count)))
    return Chunk(split_in_blocks(layout(), rows), (number + 1) * SECOND, (number + 1) * SECOND, {})


def window(keep_s: int, keep_bytes: int = 1 << 20) -> Window:
    return Window(Retained(layout(), lambda tid: False), keep_s * SECOND, keep_bytes, 0, {})


def starts(pieces: tuple[Events, ...]) -> list[int]:
    return sorted(int(ns) for piece in pieces for ns in piece["start_ns"])


@given(st.integers(1, 30), st.integers(1, 8), st.integers(0, 30))
def test_what_was_asked_for_is_in_it(count: int, keep_s: int, needed_s: int) -> None:
    kept = window(keep_s)
    for number in range(count):
        kept.add(chunk(number))
        kept.trim(min(needed_s, number) * SECOND)
    wanted = max(count - keep_s, 0)
    cut = kept.cut(wanted * SECOND)
    assert not cut.limited
    assert cut.start_ns <= wanted * SECOND
    assert starts(cut.pieces)[-(count - wanted) :] == [n * SECOND for n in range(wanted, count)]


def test_memory_is_bounded_by_time_and_by_bytes() -> None:
    by_time, by_bytes = window(3), window(1000, 10 * RECORD)
    for number in range(100):
        for one in (by_time, by_bytes):
            one.add(chunk(number, 3))
            one.trim(number * SECOND)
    assert by_time.start_ns >= 95 * SECOND
    cut = by_bytes.cut(0)
    assert cut.limited
    assert sum(map(len, cut.pieces)) <= 10
    assert cut.start_ns == by_bytes.start_ns == 97 * SECOND


def test_names_and_the_last_trigger_of_each_object_outlive_it() -> None:
    kept = window(1)
    name = {"source": "thread", "flags": FLAGS["NAME"]}
    triggers = np.zeros(3, layout().trigger)
    triggers["time_ns"], triggers["object"] = (1, 2, 3), (10, 11, 10)
    triggers["flags"] = FLAGS["TRIGGER"]
    rows = events(
        *({**name, "tid": tid, "start_ns": tid} for tid in (5, 6, 5)),
        {"source": "irq", "start_ns": 9},
    )
    kept.add(Chunk(split_in_blocks(layout(), rows), SECOND, SECOND, {}))
    kept.add(
        Chunk(split_in_blocks(layout(), triggers.view(layout().event)), 2 * SECOND, 2 * SECOND, {})
    )
    for number in range(2, 6):
        kept.add(chunk(number))
        kept.trim(number * SECOND)
    names, told = kept.cut(5 * SECOND).pieces[:2]
    assert names["tid"].tolist() == [6, 5]
    told = told.view(layout().trigger)
    assert told["object"].tolist() == [11, 10]
    assert told["time_ns"].tolist() == [2, 3]


def test_names_of_tasks_that_live_are_never_forgotten() -> None:
    retained = Retained(layout(), lambda tid: tid == 7)
    rows = np.zeros(1 << 15, layout().event)
    rows["flags"] = FLAGS["NAME"]
    rows["tid"] = np.arange(len(rows))
    retained.add_names(rows)
    kept = set(retained.names["tid"].tolist())
    assert 7 in kept
    assert 8 not in kept
    assert len(kept) <= 1 << 15
