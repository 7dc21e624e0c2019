"""Who ran when, from the periods of each process, and the check against events."""

from __future__ import annotations

import numpy as np

from noisetop.events.interruption import INTERRUPTION, Source
from noisetop.probe.switch import Slices, Traced, count_traced, slices_of

SOURCES = [Source(("thread", "a")), Source(("timer", "local_timer"))]


def times(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, np.int64)


def two_processes() -> Slices:
    """A: 0-100 with an interrupt in it, 220-300; B: 110-200; C never ran."""
    return slices_of(
        [(times(0, 50, 220), times(40, 100, 300)), (times(110), times(200)), (times(), times())]
    )


def test_slices_change_hands() -> None:
    slices = two_processes()
    assert slices.process.tolist() == [0, 1, 0]
    assert slices.start_ns.tolist() == [0, 110, 220]
    assert slices.end_ns.tolist() == [100, 200, 300]
    assert slices.ran_ns.tolist() == [90, 90, 80]
    assert slices.handover_ns.tolist() == [10, 20]


def test_nothing_ran() -> None:
    assert len(slices_of([(times(), times())]).process) == 0


def events(*rows: tuple[int, int, int, int]) -> np.ndarray[tuple[int], np.dtype[np.void]]:
    table = np.zeros(len(rows), INTERRUPTION)
    for row, (source, tid, start, end) in zip(table, rows, strict=True):
        row["source"], row["tid"], row["start_ns"], row["gross_ns"] = (
            source,
            tid,
            start,
            end - start,
        )
    return table


def test_a_switch_is_confirmed_by_a_thread_event_that_begins_or_ends_in_it() -> None:
    traced = events((0, 20, 105, 210), (1, 20, 102, 104))
    assert count_traced(two_processes(), [10, 20], traced, SOURCES) == Traced(2, [0, 1], 0, 0)


def test_an_interrupt_confirms_nothing() -> None:
    traced = events((1, 20, 105, 109))
    assert count_traced(two_processes(), [10, 20], traced, SOURCES).confirmed == 0


def test_a_thread_event_where_its_process_gave_no_sign_is_told_with_its_time() -> None:
    traced = events((0, 20, 10, 30), (0, 10, 230, 240), (0, 99, 10, 30))
    assert count_traced(two_processes(), [10, 20], traced, SOURCES) == Traced(0, [1, 1], 1, 20)


def test_what_comes_after_the_last_slice_is_no_part_of_it() -> None:
    traced = events((0, 20, 301, 400))
    assert count_traced(two_processes(), [10, 20], traced, SOURCES) == Traced(0, [0, 0], 0, 0)
