"""How often the live view is drawn: steps that keys go through."""

from __future__ import annotations

_MS = 1_000_000
STEPS_NS = (200 * _MS, 500 * _MS, 1_000 * _MS, 2_000 * _MS, 5_000 * _MS, 10_000 * _MS)
"""Least first."""


def next_refresh(now_ns: int, by: int) -> int:
    """The next shorter step, ``by`` above 0, or the next longer one; the last one stays."""
    if by > 0:
        return max((one for one in STEPS_NS if one < now_ns), default=STEPS_NS[0])
    return min((one for one in STEPS_NS if one > now_ns), default=STEPS_NS[-1])
