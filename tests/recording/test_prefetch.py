"""Reading ahead changes neither what comes nor in which order, and ends with the work."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest

from noisetop.events.interruption import INTERRUPTION, Interruptions
from noisetop.recording.prefetch import read_ahead


def tables(count: int, read: list[int]) -> Iterator[Interruptions]:
    for number in range(count):
        read.append(number)
        yield np.zeros(number, INTERRUPTION)


def readers() -> int:
    return sum(thread.name.startswith("reader") for thread in threading.enumerate())


def test_all_tables_come_in_order() -> None:
    read: list[int] = []
    assert [len(table) for table in read_ahead(tables(20, read))] == list(range(20))
    assert read == list(range(20))
    assert readers() == 0


def test_nothing_is_nothing() -> None:
    assert list(read_ahead(iter(()))) == []


def test_no_more_than_one_table_is_read_ahead() -> None:
    read: list[int] = []
    ahead = read_ahead(tables(20, read))
    next(ahead)
    ahead.close()  # type: ignore[attr-defined]
    assert len(read) <= 2
    assert readers() == 0


def test_what_reading_raises_comes_where_the_table_would() -> None:
    def broken() -> Iterator[Interruptions]:
        yield np.zeros(1, INTERRUPTION)
        raise OSError("gone")

    ahead = read_ahead(broken())
    assert len(next(ahead)) == 1
    with pytest.raises(OSError, match="gone"):
        next(ahead)
    assert readers() == 0
