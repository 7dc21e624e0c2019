"""Scheduling policy and priority, in the notation that rtla uses."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from noisetop.errors import UsageError
from noisetop.text.units import parse_duration

_SCHED_DEADLINE = 6  # include/uapi/linux/sched.h; the os module has no name for it
_FORM = re.compile(r"([orf]):(-?\d+)|d:([^:]+):([^:]+)")
_HELP = "write o:NICE, r:1..99, f:1..99 or d:RUNTIME:PERIOD"


@dataclass(frozen=True, slots=True)
class Priority:
    """What sched_setattr(2) is given."""

    text: str
    policy: int
    nice: int = 0
    level: int = 0
    runtime_ns: int = 0
    period_ns: int = 0

    def __str__(self) -> str:
        return self.text


def parse_priority(text: str) -> Priority:
    """``o:NICE``, ``r:PRIO``, ``f:PRIO`` or ``d:RUNTIME:PERIOD`` (bare numbers: µs)."""
    match = _FORM.fullmatch(text.strip())
    if not match:
        raise UsageError(f"'{text}' is not a priority: {_HELP}")
    if match[3]:
        runtime_ns = parse_duration(match[3], "us")
        period_ns = parse_duration(match[4], "us")
        if runtime_ns > period_ns:
            raise UsageError(f"in '{text}' the runtime is longer than the period: {_HELP}")
        return Priority(text, _SCHED_DEADLINE, runtime_ns=runtime_ns, period_ns=period_ns)
    number = int(match[2])
    if match[1] == "o":
        if not -20 <= number <= 19:
            raise UsageError(f"'{text}': a nice value lies between -20 and 19")
        return Priority(text, os.SCHED_OTHER, nice=number)
    if not 1 <= number <= 99:
        raise UsageError(f"'{text}' is not a priority: {_HELP}")
    policy = os.SCHED_FIFO if match[1] == "f" else os.SCHED_RR
    return Priority(text, policy, level=number)
