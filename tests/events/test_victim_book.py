"""What took the time of victims, from records that are made up."""

from __future__ import annotations

from typing import Any

import numpy as np

from noisetop.events.interruption import INTERRUPTION, UNATTRIBUTED, Interruptions, Source
from noisetop.events.layout import Events
from noisetop.events.origin import Origin
from noisetop.events.task_names import TaskNames
from noisetop.events.victim_book import VictimBook
from tests.recordings import FLAGS, START_NS, events, layout

LAYOUT = layout()
WOKEN, THROTTLED, PREEMPTED = map(LAYOUT.wait_reasons.index, ("woken", "throttled", "preempted"))
SOURCES = [Source(("thread", "throttled")), Source(("thread", "other")), UNATTRIBUTED]
IDLE, OTHER = 0, 1
LIMITED, SIBLING, STRANGER = 7, 8, 9


def ran(*rows: tuple[int, int, int]) -> Interruptions:
    """Source, start and length of each."""
    made = np.zeros(len(rows), INTERRUPTION)
    for row, (source, start, length) in zip(made, rows, strict=True):
        row["source"], row["start_ns"], row["gross_ns"] = source, START_NS + start, length
        row["net_ns"], row["tid"], row["victim_tid"] = length, 100 * source, LIMITED
        row["origin"] = Origin.KERNEL if source == IDLE else Origin.OTHERS
    return made


def wait(tid: int, start: int, gross: int, level: int) -> dict[str, Any]:
    row = {"source": "thread", "tid": tid, "start_ns": START_NS + start, "gross_ns": gross}
    return row | {"level": level, "flags": FLAGS["WAIT"], "victim_tid": tid}


def book_of(table: Interruptions, waits: Events) -> VictimBook:
    book = VictimBook(LAYOUT, list(SOURCES), TaskNames(), START_NS)
    book.add(table, waits)
    book.settle(None)
    book.close(START_NS + 1_000_000)
    return book


def test_a_quota_takes_nothing_from_who_is_woken_meanwhile() -> None:
    """It is woken on an idle CPU and comes next, 8 µs later."""
    told = book_of(
        ran((IDLE, 0, 100_000), (OTHER, 100_000, 50_000), (IDLE, 150_000, 100_000)),
        events(
            wait(STRANGER, 92_000, 8_000, WOKEN),
            wait(STRANGER, 240_000, 10_000, WOKEN),
            wait(LIMITED, 0, 250_000, THROTTLED),
        ),
    ).told
    assert told[LIMITED].throttled_ns == 250_000
    assert told[STRANGER].throttled_ns == 0
    assert told[STRANGER].unattributed_ns == told[STRANGER].delay_ns == 18_000


def test_a_thread_of_the_same_quota_that_waited_before_is_throttled_as_well() -> None:
    told = book_of(
        ran((OTHER, 0, 50_000), (IDLE, 50_000, 100_000)),
        events(
            wait(SIBLING, 0, 150_000, PREEMPTED),
            wait(LIMITED, 50_000, 100_000, THROTTLED),
        ),
    ).told
    assert told[SIBLING].throttled_ns == 100_000
    assert told[SIBLING].contention == {SOURCES[OTHER]: 50_000}
    assert told[SIBLING].unattributed_ns == 0


def test_who_is_woken_while_the_cpu_is_idle_may_be_kept_by_a_quota_after_that() -> None:
    told = book_of(
        ran((IDLE, 0, 100_000), (OTHER, 100_000, 50_000), (IDLE, 150_000, 40_000)),
        events(
            wait(SIBLING, 95_000, 95_000, WOKEN),
            wait(LIMITED, 0, 190_000, THROTTLED),
        ),
    ).told
    assert told[SIBLING].throttled_ns == 40_000
    assert told[SIBLING].contention == {SOURCES[OTHER]: 50_000}
    assert told[SIBLING].unattributed_ns == 5_000
