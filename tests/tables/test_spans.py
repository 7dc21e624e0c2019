"""Which intervals have a part in stretches of time."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from noisetop.tables.intervals import Spans

_INTERVALS = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)), min_size=1, max_size=12)


@given(_INTERVALS, _INTERVALS)
def test_they_are_those_that_overlap_one(
    spans: list[tuple[int, int]], rows: list[tuple[int, int]]
) -> None:
    begins, lengths = np.array(spans, np.uint64).T
    found = Spans.of(begins, begins + lengths)
    starts, gross = np.array(rows, np.uint64).T
    met = found.meet(starts, starts + gross)
    assert met.tolist() == [
        any(begin < start + ns and begin + length > start for begin, length in spans)
        for start, ns in rows
    ]
    assert found.first_ns == min(begin for begin, _ in spans)
    assert found.last_ns == max(begin + length for begin, length in spans)
