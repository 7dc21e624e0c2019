"""Threads that have something to do once in a while do it at the same moments: the second one finds
the interpreter in the caches, which after a pause takes longer than what they do."""

from __future__ import annotations

import time

_NS_PER_S = 1_000_000_000


def next_moment_ns(interval_s: float) -> int:
    """The next multiple of an interval in CLOCK_MONOTONIC, in ns."""
    interval_ns = round(interval_s * _NS_PER_S)
    now_ns = time.monotonic_ns()
    return now_ns - now_ns % interval_ns + interval_ns


def seconds_to_next(interval_s: float) -> float:
    """How long it is until then; not below 0."""
    return max(next_moment_ns(interval_s) - time.monotonic_ns(), 0) / _NS_PER_S
