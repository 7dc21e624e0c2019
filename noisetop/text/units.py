"""Durations as people write and read them; inside the program they are integers in ns."""

from __future__ import annotations

import re

from noisetop.errors import UsageError

NS_PER_UNIT = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
    "d": 86_400_000_000_000,
}
"""Units that a time can be written in."""
_LONGEST_NS = 365 * NS_PER_UNIT["d"]
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(" + "|".join(NS_PER_UNIT) + r")?")


def parse_duration(text: str, default_unit: str = "s") -> int:
    """Nanoseconds of ``500ms``, ``10s``, ``1.5m``; a bare number is in ``default_unit``.

    Raises UsageError when the text is no duration, not above zero or beyond a year.
    """
    match = _DURATION.fullmatch(text.strip())
    if not match:
        raise UsageError(f"'{text}' is not a duration: write for example 500ms, 10s or 1m")
    number, unit_ns = float(match[1]), NS_PER_UNIT[match[2] or default_unit]
    if number > _LONGEST_NS / unit_ns:
        raise UsageError(f"{text} is too long a duration: write 365d or less")
    duration_ns = round(number * unit_ns)
    if not duration_ns:
        raise UsageError(f"'{text}' is not a duration: write for example 500ms, 10s or 1m")
    return duration_ns


def format_ns(duration_ns: float) -> str:
    """Three significant digits with the unit that fits: ``845 ns``, ``7.06 µs``, ``12.0 s``."""
    for unit, factor in (("ns", 1), ("µs", 1_000), ("ms", 1_000_000)):
        scaled = duration_ns / factor
        if scaled < 999.5:
            return f"{_three_digits(scaled, whole=unit == 'ns')} {unit}"
    return f"{_three_digits(duration_ns / 1_000_000_000, whole=False)} s"


def _three_digits(value: float, *, whole: bool) -> str:
    if whole or value >= 99.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def format_count(count: float) -> str:
    """``950``, ``12.3k``, ``4.56M``: at most five characters."""
    for unit, factor in (("", 1), ("k", 1_000), ("M", 1_000_000)):
        scaled = count / factor
        if scaled < 999.5:
            return f"{_three_digits(scaled, whole=not unit and count == int(count))}{unit}"
    return f"{_three_digits(count / 1_000_000_000, whole=False)}G"


def format_clock(duration_ns: int) -> str:
    """Hours, minutes and seconds: ``00:01:23``."""
    minutes, seconds = divmod(duration_ns // 1_000_000_000, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02d}:{minutes:02d}:{seconds:02d}"
