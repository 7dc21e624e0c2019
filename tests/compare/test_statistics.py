"""The tests' error rates and corrections, against what theory says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisetop.compare.statistics import bootstrap_change, holm, permutation_p


def test_p_values_of_equal_samples_are_uniform() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.exponential(size=(40, 400)), rng.exponential(size=(40, 400))
    p = permutation_p(a, b, 1_000)
    for level in (0.05, 0.25, 0.5):
        assert np.mean(p <= level) == pytest.approx(level, abs=0.06)


def test_unequal_spread_alone_is_no_change() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.normal(10, 1, (60, 400)), rng.normal(10, 5, (20, 400))
    assert np.mean(permutation_p(a, b, 1_000) <= 0.05) < 0.10


def test_a_clear_change_gets_the_smallest_p_there_is() -> None:
    a, b = np.zeros((20, 1)), np.ones((20, 1))
    assert permutation_p(a, b, 999)[0] == pytest.approx(1 / 1_000)


def test_constant_columns_are_no_change() -> None:
    a, b = np.full((10, 2), 3.0), np.full((12, 2), 3.0)
    assert permutation_p(a, b, 100).tolist() == [1.0, 1.0]


def test_holm_by_hand() -> None:
    assert holm(np.array([0.01, 0.04, 0.03])).tolist() == pytest.approx([0.03, 0.06, 0.06])
    assert holm(np.array([])).tolist() == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_holm_keeps_the_order_and_stays_a_chance(values: list[float]) -> None:
    p = np.array(values)
    adjusted = holm(p)
    assert (adjusted >= p).all()
    assert (adjusted <= 1).all()
    order = np.argsort(p, kind="stable")
    assert (np.diff(adjusted[order]) >= 0).all()


def test_the_bootstrap_interval_covers_the_true_change() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.exponential(1, (80, 300)), 0.5 + rng.exponential(1, (80, 300))
    low, high = bootstrap_change(a, b)
    covered = np.mean((low <= 0.5) & (high >= 0.5))
    assert 0.90 <= covered <= 0.99
