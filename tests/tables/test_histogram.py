from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from noisetop.tables.histogram import BUCKETS, bucket_of, edges_ns, percentile_ns

DURATIONS = st.integers(0, (1 << 44) - 1)


@given(DURATIONS)
def test_a_duration_lies_between_the_edges_of_its_bucket(duration_ns: int) -> None:
    bucket = int(bucket_of(np.array([duration_ns], np.uint64))[0])
    edges = edges_ns()
    assert edges[bucket] <= duration_ns < edges[bucket + 1]


def test_edges_rise_and_a_bucket_is_at_most_a_sixteenth_wide() -> None:
    edges = edges_ns()
    assert len(edges) == BUCKETS + 1
    widths = np.diff(edges)
    assert (widths > 0).all()
    assert (widths * 16 <= np.maximum(edges[:-1], 16)).all()


@given(st.integers(1 << 44, (1 << 64) - 1))
def test_what_is_too_long_goes_into_the_last_bucket(duration_ns: int) -> None:
    assert bucket_of(np.array([duration_ns], np.uint64)).tolist() == [BUCKETS - 1]


@given(st.lists(DURATIONS, min_size=1, max_size=200), st.floats(0.001, 1.0))
def test_a_percentile_is_never_too_low_and_at_most_a_sixteenth_too_high(
    durations_ns: list[int], share: float
) -> None:
    counts = np.bincount(bucket_of(np.array(durations_ns, np.uint64)), minlength=BUCKETS)
    ordered = sorted(durations_ns)
    exact = ordered[max(int(np.ceil(share * len(ordered))), 1) - 1]
    found = percentile_ns(counts, share, ordered[-1])
    assert exact <= found <= exact + max(exact // 16, 0)
    assert found <= ordered[-1]


def test_no_durations_no_percentile() -> None:
    assert percentile_ns(np.zeros(BUCKETS, np.int64), 0.99, 0) == 0
