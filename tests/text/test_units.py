from __future__ import annotations

import pytest

from noisetop.errors import UsageError
from noisetop.text.units import parse_duration


@pytest.mark.parametrize(
    ("text", "duration_ns"),
    [("500ms", 500_000_000), ("1.5m", 90_000_000_000), ("2", 2_000_000_000), ("1ns", 1)],
)
def test_durations(text: str, duration_ns: int) -> None:
    assert parse_duration(text) == duration_ns


@pytest.mark.parametrize("text", ["", "0", "0.1ns", "-1s", "1 s", "1y", "nan", "1e3"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(UsageError, match="is not a duration"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["9" * 21, "9" * 400, "366d", "9" * 400 + "ns"])
def test_what_is_too_long(text: str) -> None:
    with pytest.raises(UsageError, match="too long a duration: write 365d or less"):
        parse_duration(text)
    assert parse_duration("365d") == 365 * 24 * 3_600 * 10**9
