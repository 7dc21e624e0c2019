"""Moments of a recording as people read and write them: since its start, or relative."""

from __future__ import annotations

import re

from noisetop.errors import UsageError
from noisetop.text.units import NS_PER_UNIT, parse_duration

_CLOCK = re.compile(r"(?:(\d{1,4}):)?(\d{1,4}):(\d{1,2}(?:\.\d{1,9})?)")
_SECOND_NS = NS_PER_UNIT["s"]


def format_moment(since_start_ns: int, step_ns: int = _SECOND_NS) -> str:
    """``01:23`` or ``1:02:03``, with the decimals that tell steps of ``step_ns`` apart."""
    decimals = next((n for n in range(10) if step_ns % (_SECOND_NS // 10**n) == 0), 9)
    seconds, ns = divmod(since_start_ns, _SECOND_NS)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    clock = f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes:02d}:{seconds:02d}"
    return f"{clock}.{ns:09d}"[: len(clock) + 1 + decimals] if decimals else clock


def parse_moment(text: str, now_ns: int) -> int:
    """Nanoseconds since the start: ``12.5s``, ``01:23``, ``1:02:03``; with ``+`` or ``-`` from
    ``now_ns`` on. Raises UsageError."""
    text = text.strip()
    sign = {"+": 1, "-": -1}.get(text[:1], 0)
    bare = text.lstrip("+-").strip()
    if match := _CLOCK.fullmatch(bare):
        hours, minutes = int(match[1] or 0), int(match[2])
        ns = (hours * 60 + minutes) * 60 * _SECOND_NS + round(float(match[3]) * _SECOND_NS)
    elif bare.rstrip("s") in ("0", "00"):
        ns = 0
    else:
        try:
            ns = parse_duration(bare)
        except UsageError:
            raise UsageError(
                f"'{text}' is no time: write for example 12.5s, 01:23 or -10s"
            ) from None
    return now_ns + sign * ns if sign else ns
