"""Waits and sleep at a moment, from records that tell them when they are over."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from noisetop.events.layout import Events
from noisetop.events.waits_by_time import WaitsByTime
from tests.recordings import FLAGS, events, layout

LAYOUT = layout()
WOKEN, BLOCKED, PREEMPTED = map(LAYOUT.wait_reasons.index, ("woken", "blocked", "preempted"))


def wait(tid: int, start: int, gross: int, level: int = PREEMPTED, slept: int = 0) -> Events:
    row: dict[str, Any] = {"source": "thread", "tid": tid, "start_ns": start, "gross_ns": gross}
    return events(row | {"level": level, "flags": FLAGS["WAIT"], "object": slept})


def told(records: Events) -> list[tuple[int, int, int, int]]:
    assert (records["level"] & LAYOUT.open_mark == LAYOUT.open_mark).all()
    return [
        (int(one["tid"]), int(one["level"]) & ~LAYOUT.open_mark, int(one["start_ns"]), int(end))
        for one, end in zip(records, records["start_ns"] + records["gross_ns"], strict=True)
    ]


@pytest.fixture
def waits() -> WaitsByTime:
    return WaitsByTime(
        LAYOUT,
        [
            wait(1, 100, 50),
            wait(2, 120, 200),
            wait(3, 400, 10, WOKEN, slept=300),
            wait(4, 500, 10, WOKEN, slept=LAYOUT.slept_new or 0),
        ],
    )


def test_each_is_given_once_by_its_end(waits: WaitsByTime) -> None:
    assert waits.ended(150)["tid"].tolist() == [1]
    assert waits.ended(150)["tid"].tolist() == []
    assert waits.ended(320)["tid"].tolist() == [2]
    assert waits.ended(None)["tid"].tolist() == [3, 4]


def test_what_goes_on_ends_at_that_moment(waits: WaitsByTime) -> None:
    assert told(waits.going_on(110)) == [(1, PREEMPTED, 100, 110), (3, BLOCKED, 100, 110)]
    assert told(waits.going_on(150)) == [(2, PREEMPTED, 120, 150), (3, BLOCKED, 100, 150)]
    assert told(waits.going_on(405)) == [(3, WOKEN, 400, 405)]
    assert told(waits.going_on(505)) == [(4, WOKEN, 500, 505)]


def test_no_records() -> None:
    none = WaitsByTime(LAYOUT, [])
    assert len(none.going_on(5)) == len(none.ended(None)) == 0
    assert np.array_equal(none.ended(7), none.ended(None))
