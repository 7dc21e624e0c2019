"""Rows of structured arrays as plain bytes."""

from __future__ import annotations

import numpy as np
import pytest

from noisetop.tables.rows import joined, select
from tests.recordings import events, interruption, table

ROWS = table(*(interruption(start, 10) for start in (5, 6, 7)))


def test_rows_by_index_and_by_mask() -> None:
    assert select(ROWS, np.array([2, 0]))["start_ns"].tolist() == ROWS["start_ns"][[2, 0]].tolist()
    mask = np.array([False, True, True])
    assert (select(ROWS, mask) == ROWS[1:]).all()
    assert select(ROWS, ~mask & mask).dtype == ROWS.dtype


def test_fields_that_share_their_place_survive() -> None:
    """A name that ends in zeros, and an object that lies over its first half."""
    some = events(
        {"source": "hrtimer", "object": 0xFF00_0000_0000_0001}, {"source": "thread", "comm": b"a"}
    )
    both = joined([select(some, np.array([1])), select(some, np.array([0]))])
    assert both["comm"][0] == b"a"
    assert both["object"][1] == 0xFF00_0000_0000_0001


@pytest.mark.parametrize("parts", [[ROWS[:0], ROWS], [ROWS[:1], ROWS[1:]], [ROWS[::2], ROWS[1:2]]])
def test_tables_one_after_another(parts: list[np.ndarray]) -> None:
    assert sorted(joined(parts)["start_ns"].tolist()) == ROWS["start_ns"].tolist()
    assert len(joined([ROWS[:0], ROWS[:0]])) == 0
