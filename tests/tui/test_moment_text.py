"""Moments as people read and write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisetop.errors import UsageError
from noisetop.tui.moment_text import format_moment, parse_moment

_S = 1_000_000_000


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("12.5s", 12_500_000_000),
        ("7", 7 * _S),
        ("01:23", 83 * _S),
        ("1:02:03.5", 3723 * _S + _S // 2),
        ("+10s", 40 * _S),
        ("-10s", 20 * _S),
        ("0", 0),
    ],
)
def test_what_people_write(text: str, ns: int) -> None:
    assert parse_moment(text, 30 * _S) == ns


@pytest.mark.parametrize("text", ["foo", "1:2:3:4", "", "-", "12x"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(UsageError, match="is no time"):
        parse_moment(text, 0)


@given(st.integers(0, 10**15), st.sampled_from([1_000_000, 20_000_000, _S, 60 * _S]))
def test_what_is_shown_can_be_written(ns: int, step_ns: int) -> None:
    ns -= ns % step_ns
    assert parse_moment(format_moment(ns, step_ns), 0) == ns
