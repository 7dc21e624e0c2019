"""Figures about gaps, against what can be counted by hand."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from noisetop.gaps.gaps import (
    BUCKET_EDGES_NS,
    NS_PER_HOUR,
    Gaps,
    buckets_per_hour,
    percentiles_ns,
    spin_periods,
)

LENGTHS = st.lists(st.integers(1, 10**9), max_size=200)


def test_the_edges_are_those_of_jitter_samplers() -> None:
    assert BUCKET_EDGES_NS[0] == 100
    assert BUCKET_EDGES_NS[-1] == 100_000_000
    wanted = [2_000, 3_000, 4_000, 6_000, 8_000, 10_000, 14_000, 20_000]
    place = BUCKET_EDGES_NS.index(2_000)
    assert list(BUCKET_EDGES_NS[place : place + 8]) == wanted


@given(LENGTHS)
def test_every_gap_is_in_one_bucket(lengths: list[int]) -> None:
    buckets = buckets_per_hour(np.array(lengths, np.int64), NS_PER_HOUR // 2)
    assert sum(bucket.count for bucket in buckets) == len(lengths)
    for bucket in buckets:
        inside = [n for n in lengths if bucket.from_ns <= n < (bucket.to_ns or 10**12)]
        assert bucket.count == len(inside)
        assert bucket.per_cpu_hour == 2 * bucket.count


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=200), st.floats(0.001, 1))
def test_a_percentile_is_the_smallest_length_that_reaches_its_share(
    lengths: list[int], share: float
) -> None:
    [found] = percentiles_ns(np.array(lengths, np.int64), (share,))
    below = [n for n in lengths if n <= found]
    assert found in lengths
    assert len(below) >= share * len(lengths) - 1e-6
    shorter = [n for n in lengths if n < found]
    assert len(shorter) < share * len(lengths) + 1e-6


def test_periods_alternate_and_fill_the_time() -> None:
    gaps = Gaps(np.array([100, 500, 900]), np.array([200, 510, 1_000]), 1_000)
    found = spin_periods(gaps, 0, 1_000, 100)
    assert [one.active for one in found] == [True, False, True, False, True, False]
    assert sum(one.length_ns for one in found) == 1_000
    assert [one.start_ns for one in found] == [0, 100, 200, 500, 510, 900]
    assert spin_periods(gaps, 0, 1_000, 3) == found[:3]
