"""Which small numbers occur."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from noisetop.tables.small_numbers import occurring


@given(st.lists(st.integers(0, 2**16 - 1)))
def test_as_numpy_finds_them(numbers: list[int]) -> None:
    column = np.array(numbers, np.uint16)
    assert occurring(column) == np.unique(column).tolist()
