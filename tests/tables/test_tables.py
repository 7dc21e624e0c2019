"""The passes over tables in C, against the same said slowly."""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisetop._tables import BUCKETS, AsOfJoin, Groups, add_gaps, add_up, split_by_kind
from noisetop.tables.group_sums import no_sums, widened
from noisetop.tables.histogram import bucket_of

KEY = st.integers(0, 3) | st.integers(0, (1 << 64) - 1)
ROWS = st.lists(st.tuples(KEY, st.integers(0, 255), st.integers(0, 1 << 40)), max_size=600)
ROW = np.dtype([("kind", "u1"), ("number", "<u4"), ("more", "S7")])


def columns(rows: list[tuple[int, int, int]]) -> tuple[npt.NDArray[Any], ...]:
    """Of several widths, with strides, and none of them aligned."""
    table = np.zeros(len(rows), [("pad", "u1"), ("a", "<u8"), ("b", "u1"), ("c", "<u8")])
    for at, row in enumerate(rows):
        table[at] = (0, *row)
    return table["a"], table["b"], table["c"]


@given(ROWS, st.integers(0, 600))
def test_a_combination_has_one_number_however_rows_are_cut(
    rows: list[tuple[int, int, int]], cut: int
) -> None:
    groups, seen = Groups(3), list[tuple[int, int, int]]()
    for part in (rows[:cut], rows[cut:]):
        numbers = np.empty(len(part), np.uint32)
        fresh = groups.numbers(columns(part), numbers)
        seen += [part[row] for row in fresh]
        assert [seen[number] for number in numbers] == part
    assert len(seen) == len(set(rows))


def test_many_combinations_keep_their_numbers() -> None:
    groups = Groups(1)
    keys = np.arange(100_000, dtype=np.uint64) << np.uint64(40)
    first, again = np.empty(len(keys), np.uint32), np.empty(len(keys), np.uint32)
    assert groups.numbers([keys], first) == list(range(len(keys)))
    assert groups.numbers([keys[::-1]], again) == []
    assert (again[::-1] == first).all()


def test_columns_that_do_not_fit_are_refused() -> None:
    groups, three, numbers = Groups(2), np.zeros(3, np.uint16), np.empty(3, np.uint32)
    for wrong in ([three], [three, three[:2]], [three, np.zeros((3, 2), np.uint16)]):
        with pytest.raises(ValueError, match=r"column|length"):
            groups.numbers(wrong, numbers)
    with pytest.raises(ValueError, match="a uint32 for each row"):
        groups.numbers([three, three], numbers[:2])
    with pytest.raises(ValueError, match="1 to 8 columns"):
        Groups(9)


def test_two_threads_cannot_break_one_table() -> None:
    """One of the two is refused, or comes after the other."""
    groups, keys = Groups(1), np.arange(1_000_000, dtype=np.uint64)
    refused = []

    def work() -> None:
        try:
            groups.numbers([keys], np.empty(len(keys), np.uint32))
        except ValueError:
            refused.append(True)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    numbers = np.empty(len(keys), np.uint32)
    assert groups.numbers([keys], numbers) == []
    assert len(refused) < len(threads)
    assert (numbers == keys).all()


GROUPED = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 1 << 45), st.integers(0, 99)))


@given(GROUPED, st.integers(0, 50))
def test_figures_are_those_of_the_durations(rows: list[tuple[int, int, int]], cut: int) -> None:
    sums, histogram = widened(no_sums(), 5), np.zeros((5, BUCKETS), np.int64)
    for part in (rows[:cut], rows[cut:]):
        group, duration, start = np.array(part, np.uint64).reshape(-1, 3).T
        add_up((group, duration, start), sums, histogram)
    for number in range(5):
        mine = [(duration, start) for group, duration, start in rows if group == number]
        largest = max((duration for duration, _ in mine), default=-1)
        first = min((start for duration, start in mine if duration == largest), default=0)
        total = sum(duration for duration, _ in mine)
        assert sums[number].tolist() == [len(mine), total, largest, first]
        buckets = bucket_of(np.array([duration for duration, _ in mine], np.uint64))
        assert (histogram[number] == np.bincount(buckets, minlength=BUCKETS)).all()


def test_a_group_without_figures_is_refused() -> None:
    group = np.array([0, 5])
    with pytest.raises(ValueError, match="without figures"):
        add_up((group, group, group), widened(no_sums(), 5), None)
    with pytest.raises(ValueError, match="as many groups"):
        add_up((group, group, group), widened(no_sums(), 5), np.zeros((4, BUCKETS), np.int64))
    with pytest.raises(ValueError, match="without figures"):
        add_gaps((group, group), np.zeros(5, np.int64), np.zeros((5, BUCKETS), np.int64))


def test_gaps_are_between_two_of_a_group_and_never_negative() -> None:
    last, histogram = np.full(2, -1), np.zeros((2, BUCKETS), np.int64)
    groups = np.array([0, 1, 0, 0, 0, 1, 0])
    starts = np.array([100, 7, 110, 110, 105, 7, 130])
    add_gaps((groups, starts), last, histogram)
    assert last.tolist() == [130, 7]
    assert np.flatnonzero(histogram[0]).tolist() == bucket_of(np.array([10, 20], "u8")).tolist()
    assert histogram.sum() == 2


@given(st.lists(st.binary(min_size=12, max_size=12)), st.integers(0, 20), st.integers(1, 9))
def test_rows_are_sorted_out_in_their_order(rows: list[bytes], cut: int, block_rows: int) -> None:
    pieces = [b"".join(rows[:cut]), b"".join(rows[cut:])]
    found = split_by_kind(pieces, 12, 3, 0x0F, bytes([2, 0, 9]), block_rows)
    for kind, blocks in zip((2, 0, 9), found, strict=True):
        assert b"".join(blocks) == b"".join(row for row in rows if row[3] & 0x0F == kind)
        assert all(len(block) == 12 * block_rows for block in blocks[:-1])
        assert all(blocks)


def test_a_piece_of_a_row_is_refused() -> None:
    with pytest.raises(ValueError, match="ends within a row"):
        split_by_kind([bytes(24), bytes(13)], 12, 0, 1, b"\0", 1)
    with pytest.raises(ValueError, match="a byte of the row"):
        split_by_kind([bytes(24)], 12, 12, 1, b"\0", 1)


def book_of(entries: list[tuple[int, int]], cuts: list[int], recent_ns: int = 1 << 62) -> Any:
    book = AsOfJoin(8, recent_ns, 10)
    for begin, end in zip([0, *cuts], [*cuts, len(entries)], strict=True):
        part = np.array(entries[begin:end], np.uint64).reshape(-1, 2)
        book.add((part[:, 0], part[:, 1]), np.arange(begin, begin + len(part)).view(np.uint8))
    return book


def asked(book: Any, queries: list[tuple[int, int]], *, once: bool) -> list[int]:
    """The row of each query, -1 for none."""
    keys = np.array(queries, np.uint64).reshape(-1, 2)
    rows = np.zeros(len(keys), np.int64)
    known = book.find((keys[:, 0], keys[:, 1]), once, rows.view(np.uint8))
    return np.where(np.frombuffer(known, bool), rows, -1).tolist()  # type: ignore[no-any-return]


MOMENTS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 40)), max_size=200)


def last_before(entries: list[tuple[int, int]], key: int, time: int) -> int:
    mine = [(when, at) for at, (of, when) in enumerate(entries) if of == key and when <= time]
    return max(mine, default=(0, -1))[1]


@given(MOMENTS, MOMENTS, st.lists(st.integers(0, 200), max_size=3))
def test_the_last_one_up_to_a_moment_is_found_in_whatever_order_they_came(
    entries: list[tuple[int, int]], queries: list[tuple[int, int]], cuts: list[int]
) -> None:
    book = book_of(entries, sorted(min(cut, len(entries)) for cut in cuts))
    assert asked(book, queries, once=False) == [last_before(entries, *query) for query in queries]


@given(MOMENTS, MOMENTS, MOMENTS)
def test_one_that_answers_once_answers_the_earliest(
    entries: list[tuple[int, int]], first: list[tuple[int, int]], then: list[tuple[int, int]]
) -> None:
    book, answered = book_of(entries, []), set[int]()
    for queries in (first, then):
        wanted = [-1] * len(queries)
        order = sorted(range(len(queries)), key=lambda at: queries[at][1])
        taken = set(answered)
        for at in order:
            row = last_before(entries, *queries[at])
            if row >= 0 and row not in taken:
                wanted[at] = row
                taken.add(row)
        assert asked(book, queries, once=True) == wanted
        answered = taken


def test_a_book_forgets_what_is_old_but_for_the_last_two_of_a_key() -> None:
    """20,000 rows of two keys over 2 s, of which half a second counts as recent."""
    entries = [(at % 2, at * 100_000) for at in range(20_000)]
    book = book_of(entries, list(range(1_000, 20_000, 1_000)), recent_ns=500_000_000)
    assert len(book) < 17_000
    assert asked(book, [(0, 1_600_000_000)], once=False) == [16_000]
    rare = AsOfJoin(8, 1_000, 10)
    for at in range(30_000):
        key = np.array([7 if at < 5 else 8], np.uint64)
        rare.add((key, np.array([at * 10_000], np.uint64)), np.array([at]).view(np.uint8))
    assert len(rare) < 9_000
    assert asked(rare, [(7, 1 << 60), (7, 45_000), (7, 35_000), (7, 5_000)], once=False) == [
        4, 4, 3, -1,
    ]  # fmt: skip


def test_no_more_old_ones_are_kept_than_asked_for() -> None:
    book = AsOfJoin(8, 1_000, 10)
    for at in range(30_000):
        key, time = np.array([at], np.uint64), np.array([at * 10_000], np.uint64)
        book.add((key, time), np.array([at]).view(np.uint8))
    assert len(book) < 9_000
    assert asked(book, [(29_999, 1 << 60), (0, 1 << 60)], once=False) == [29_999, -1]


def test_the_room_of_a_burst_is_given_back() -> None:
    """500 keys, each of which has its 1,000 rows of 8 bytes, one key after another: two of a key
    are kept, beside at most twice as many as there were before."""
    book = AsOfJoin(8, 1_000, 1_000)
    for key in range(500):
        times = np.arange(1_000, dtype=np.uint64) + np.uint64(key * 10_000)
        book.add((np.full(1_000, key, np.uint64), times), np.zeros(8_000, np.uint8))
    assert asked(book, [(0, 1 << 60), (499, 1 << 60)], once=False) == [0, 0]
    assert len(book) < 12_000
    assert sys.getsizeof(book) < 12_000 * (8 + 16) * 2


def test_a_book_wants_a_row_for_each_key() -> None:
    book, keys = AsOfJoin(8, 1, 1), np.zeros(2, np.uint64)
    with pytest.raises(ValueError, match="a row for each key"):
        book.add((keys, keys), np.zeros(8, np.uint8))
    with pytest.raises(ValueError, match="a row for each key"):
        book.find((keys, keys), False, np.zeros(24, np.uint8))
