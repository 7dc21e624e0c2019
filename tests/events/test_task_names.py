"""Names of tasks, by moment."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from noisetop.events.task_names import TaskNames
from tests.recordings import layout


def told(*names: tuple[int, str, int]) -> TaskNames:
    """The names in these records: tid, name, moment."""
    book = TaskNames()
    records = np.zeros(len(names), layout().event)
    for record, (tid, name, time_ns) in zip(records, names, strict=True):
        record["tid"], record["comm"], record["start_ns"] = tid, name.encode(), time_ns
    book.add(records)
    return book


def test_a_name_holds_from_when_it_was_told_until_the_next() -> None:
    book = told((7, "bash", 100), (7, "ls", 200))
    assert [book.name(7, at) for at in (50, 100, 199, 200, 300)] == [
        "bash",
        "bash",
        "bash",
        "ls",
        "ls",
    ]
    assert book.name(8, 100) == "?"
    assert book.latest == {7: "ls"}


@given(st.permutations([(7, "bash", 100), (7, "bash", 150), (7, "ls", 200), (7, "ls", 250)]))
def test_cpus_tell_in_any_order(names: list[tuple[int, str, int]]) -> None:
    book = told(*names)
    assert [book.name(7, at) for at in (120, 199, 200, 220)] == ["bash", "bash", "ls", "ls"]
    assert book.latest == {7: "ls"}


def test_places_tell_the_names_of_a_number_apart() -> None:
    book = told((7, "bash", 100), (7, "ls", 200), (8, "make", 100))
    tids = np.array([7, 8, 7, 7, 9], np.uint32)
    places = book.places(tids, np.array([150, 150, 250, 50, 150], np.uint64))
    assert places.tolist() == [0, 0, 1, 0, 0]


def test_memory_is_bounded_by_the_numbers() -> None:
    book = told(*((7, f"name-{i}", i) for i in range(100)))
    assert book.name(7, 99) == "name-99"
    assert book.name(7, 97) == "name-97"
    assert book.name(7, 3) == "name-96"
    assert book.latest == {7: "name-99"}


def test_tasks_that_are_gone_are_forgotten_but_for_the_latest() -> None:
    book = told(*((tid, f"s{tid}", tid) for tid in range(1, 10)), (3, "renamed", 50), (2, "s2", 60))
    assert book.task_count == 9
    before = book.version
    book.forget(is_alive=lambda tid: tid == 5, kept=2)
    assert book.latest == {5: "s5", 3: "renamed", 2: "s2"}
    assert book.task_count == 3
    assert book.version != before
    assert [book.name(tid, 99) for tid in (1, 2, 3, 5)] == ["?", "s2", "renamed", "s5"]
    assert not book.places(np.array([1, 2], np.uint32), np.array([99, 99], np.uint64)).any()
    book.forget(is_alive=lambda tid: False, kept=0)
    assert book.latest == {}
