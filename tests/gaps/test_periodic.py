"""The period of the dominant interruption is found among others, and none is made up."""

from __future__ import annotations

import numpy as np
import pytest

from noisetop.gaps.periodic import find_regular

SECOND_NS = 1_000_000_000


def stream(
    period_ns: int, others_per_s: int, jitter_ns: int, missing: float, seed: int = 1
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """10 s of ticks of 1.5 µs and, at random moments, other gaps of 9 µs."""
    rng = np.random.default_rng(seed)
    ticks = np.arange(0, 10 * SECOND_NS, period_ns)
    ticks = ticks[rng.random(len(ticks)) >= missing] + 12_345
    ticks = ticks + rng.normal(0, jitter_ns, len(ticks)).astype(np.int64)
    others = rng.integers(0, 10 * SECOND_NS, 10 * others_per_s)
    start = np.concatenate([ticks, others])
    length = np.concatenate([np.full(len(ticks), 1_500), np.full(len(others), 9_000)])
    order = np.argsort(start)
    return start[order].astype(np.int64), length[order].astype(np.int64)


@pytest.mark.parametrize("hertz", [100, 250, 300, 1000])
@pytest.mark.parametrize(("others", "missing"), [(0, 0.0), (20, 0.1), (100, 0.2)])
def test_the_tick_is_found_among_others(hertz: int, others: int, missing: float) -> None:
    found = find_regular(*stream(SECOND_NS // hertz, others, 3_000, missing))
    assert found
    assert found.period_ns == pytest.approx(SECOND_NS / hertz, rel=0.01)
    assert found.cost_ns == 1_500


def test_random_gaps_have_no_period() -> None:
    rng = np.random.default_rng(2)
    start = np.sort(rng.integers(0, 10 * SECOND_NS, 3_000))
    assert find_regular(start, np.full(3_000, 2_000)) is None


def test_few_gaps_have_no_period() -> None:
    start = np.arange(10) * 4_000_000
    assert find_regular(start, np.full(10, 1_000)) is None
    assert find_regular(start[:0], start[:0]) is None


def test_while_the_thread_does_not_run_nothing_is_missed() -> None:
    start, length = stream(4_000_000, 0, 1_000, 0.0)
    swallowed = (start // 1_000_000) % 100 > 60  # 40 ms of every 100 ms are one long gap
    first = swallowed & ~np.concatenate([[False], swallowed[:-1]])
    kept = ~swallowed | first
    length = np.where(first, 38_000_000, length)
    found = find_regular(start[kept], length[kept])
    assert found
    assert found.period_ns == pytest.approx(4_000_000, rel=0.01)
