"""Outcomes of a check, and what a machine is tuned for."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """Outcome of a check, worst first."""

    FAIL = "fail"
    WARN = "warn"
    SKIP = "skip"
    PASS = "pass"


class Goal(StrEnum):
    """What the machine is tuned for, where guides disagree."""

    BENCHMARK = "benchmark"
    REALTIME = "realtime"
    THROUGHPUT = "throughput"


LATENCY = frozenset({Goal.BENCHMARK, Goal.REALTIME})
