"""The counter follows CLOCK_MONOTONIC, also when that is slewed, and says how well."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisetop.errors import NoisetopError
from noisetop.probe.clock import fit_clock
from noisetop.probe.sampler import ClockPair, clock_pair

TICKS_PER_NS = 2.6
STEP_NS = 50_000_000


def pairs_of(rates: list[float], width: int = 100) -> list[ClockPair]:
    """Pairs every 50 ms; the rate of the clock may change at each of them."""
    ticks, ns = 5_000_000_000_000.0, 3_000_000_000_000
    pairs = []
    for rate in rates:
        pairs.append(ClockPair(int(ticks) - width // 2, ns, int(ticks) + width // 2))
        ticks, ns = ticks + STEP_NS * rate, ns + STEP_NS
    return pairs


@given(st.lists(st.floats(2.5, 2.7), min_size=3, max_size=20))
def test_pairs_lie_on_the_line(rates: list[float]) -> None:
    pairs = pairs_of(rates)
    clock = fit_clock(pairs)
    middle = np.array([(p.before_ticks + p.after_ticks) // 2 for p in pairs])
    assert (np.abs(clock.to_ns(middle) - [p.ns for p in pairs]) <= 1).all()
    inner = np.sort(np.random.default_rng(1).integers(middle[0], middle[-1], 100))
    assert (np.diff(clock.to_ns(inner)) >= 0).all()


def test_a_steady_clock_is_known_to_half_the_width_of_a_pair() -> None:
    clock = fit_clock(pairs_of([TICKS_PER_NS] * 10, width=104))
    assert clock.ticks_per_ns == pytest.approx(TICKS_PER_NS, rel=1e-9)
    assert clock.pair_error_ns == pytest.approx(20, rel=0.01)
    assert clock.line_error_ns < 1


def test_a_slewed_clock_admits_its_error() -> None:
    rates = [TICKS_PER_NS * (1 + (i % 2) * 1e-6) for i in range(10)]
    assert fit_clock(pairs_of(rates)).line_error_ns > 10


def test_counters_that_are_not_in_step_are_noticed() -> None:
    clock = fit_clock(pairs_of([TICKS_PER_NS] * 10))
    same = pairs_of([TICKS_PER_NS] * 10)[5]
    assert clock.offset_ns([same]) == 0
    apart = ClockPair(same.before_ticks + 26_000, same.ns, same.after_ticks + 26_000)
    assert clock.offset_ns([apart]) == pytest.approx(10_000, rel=0.02)


def test_one_pair_is_no_clock() -> None:
    with pytest.raises(NoisetopError, match="longer -d"):
        fit_clock(pairs_of([TICKS_PER_NS]))


def test_real_pairs_are_ordered() -> None:
    first, second = clock_pair(), clock_pair()
    assert first.before_ticks <= first.after_ticks <= second.before_ticks
    assert first.ns <= second.ns
