from __future__ import annotations

from noisetop.events.interruption import OTHER_TID
from noisetop.events.waits import TaskWait, WaitBook
from noisetop.recording.metadata_json import waits_as_dict, waits_from_dict

FIRST = {7: TaskWait({"woken": 2}, {"woken": 50}, 40), 8: TaskWait({}, {}, 0)}
SECOND = {7: TaskWait({"woken": 1, "preempted": 3}, {"woken": 5, "preempted": 9}, 6)}


def test_a_book_is_what_it_was_made_of() -> None:
    assert WaitBook.of(FIRST).by_task() == FIRST
    assert waits_from_dict(waits_as_dict(FIRST)) == FIRST


def test_merging_adds_up_and_keeps_the_longest() -> None:
    book = WaitBook.of(FIRST)
    book.merge(WaitBook.of(SECOND))
    assert book.by_task()[7] == TaskWait(
        {"preempted": 3, "woken": 3}, {"preempted": 9, "woken": 55}, 40
    )
    book.clear()
    assert book.by_task() == {}


def test_the_rest_is_told_as_one_and_no_sum_changes() -> None:
    book = WaitBook.of({tid: TaskWait({"woken": 1}, {"woken": tid}, tid) for tid in range(1, 101)})
    for _ in range(2):
        book.fold(set(range(91, 101)))
        found = book.by_task()
        assert set(found) == {OTHER_TID, *range(91, 101)}
        assert found[OTHER_TID] == TaskWait({"woken": 90}, {"woken": sum(range(91))}, 90)
