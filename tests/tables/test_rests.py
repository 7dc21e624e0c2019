"""How long nothing went on before a row, against looking at each by itself."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisetop._tables import rests

CONSIDERED, COUNTED = 3, 1
Row = tuple[int, int, int, int]
"""Group, start, length, marks."""
ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 50), st.integers(0, 9), st.integers(0, 7)),
    max_size=30,
)


def columns(rows: list[Row]) -> tuple[npt.NDArray[np.uint64], ...]:
    return tuple(np.array(rows, np.uint64).reshape(-1, 4).T)


def found(rows: list[Row], last: list[int]) -> tuple[list[int], list[int]]:
    lasts, out = np.array(last, np.int64), np.empty(len(rows), np.int64)
    group, start, length, marks = columns(rows)
    rests((group, start, length, marks), (CONSIDERED, COUNTED), lasts, out)
    return out.tolist(), lasts.tolist()


def slowly(rows: list[Row], last: list[int]) -> tuple[list[int], list[int]]:
    out, last = [0] * len(rows), list(last)
    ends = [start + length for _, start, length, _ in rows]
    for place in sorted(range(len(rows)), key=lambda place: (ends[place], place)):
        group, start, _, marks = rows[place]
        if marks & CONSIDERED:
            out[place] = start - last[group]
        if marks & COUNTED:
            last[group] = ends[place]
    return out, last


@given(ROWS, st.lists(st.integers(-20, 20), min_size=3, max_size=3))
def test_it_is_what_looking_at_each_gives(rows: list[Row], last: list[int]) -> None:
    assert found(rows, last) == slowly(rows, last)


@given(ROWS, st.integers(0, 30))
def test_rows_may_come_in_pieces(rows: list[Row], cut: int) -> None:
    """Each with all that ends after the one before."""
    rows = sorted(rows, key=lambda row: row[1] + row[2])
    first, last = found(rows[:cut], [0, 0, 0])
    rest, at_last = found(rows[cut:], last)
    assert (first + rest, at_last) == found(rows, [0, 0, 0])


@pytest.mark.parametrize(("group", "places"), [(3, 1), (0, 2), (1 << 60, 1)])
def test_no_place_for_a_group_or_a_row(group: int, places: int) -> None:
    row = columns([(group, 0, 0, 1)])
    with pytest.raises(ValueError, match="a last end for each group"):
        rests(row, (1, 1), np.zeros(3, np.int64), np.empty(places, np.int64))  # type: ignore[arg-type]


def test_marks_of_a_column_of_other_length() -> None:
    group, start, length, _ = columns([(0, 0, 0, 1)])
    with pytest.raises(ValueError, match="one length"):
        rests(
            (group, start, length, np.zeros(2, np.uint8)),
            (1, 1),
            np.zeros(1, np.int64),
            np.empty(1, np.int64),
        )
