"""How a recording is cut into periods."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisetop.live.periods import Periods, usual_length_ns

_S = 1_000_000_000


@pytest.mark.parametrize(
    ("duration_ns", "length_ns"),
    [
        (300_000_000, 20_000_000),
        (2 * _S, 200_000_000),
        (10 * _S, _S),
        (3_600 * _S, _S),
        (86_400 * _S, 50 * _S),
        (0, 1_000_000),
        (_S // 1_000, 1_000_000),
    ],
)
def test_the_usual_length(duration_ns: int, length_ns: int) -> None:
    assert usual_length_ns(duration_ns) == length_ns


@given(st.integers(0, 1_000), st.integers(0, 10_000), st.integers(1, 3_000))
def test_periods_cover_the_recording(start: int, duration: int, length: int) -> None:
    periods = Periods.of(start, start + duration, length)
    assert len(periods) == max(-(-duration // length), 1)
    assert (periods.bounds_ns[0], periods.bounds_ns[-1]) == (start, start + duration)
    for number, (begin, end) in enumerate(periods):
        assert end - begin <= length
        assert periods.of_end(end) == number or begin == end
        assert periods.at(begin) == number or begin == end
    assert periods.at(start - 5) == 0
    assert periods.at(start + duration + 5) == len(periods) - 1
