"""What looks for the worst moments, by what orders them."""

from __future__ import annotations

from collections.abc import Iterator

from noisetop.flight_recorder.detectors import (
    Detector,
    SingleDetector,
    TotalDetector,
    WaitDetector,
)
from noisetop.flight_recorder.worst_folder import BY_COST, COST, WorstFolder
from noisetop.recording.moment import SINGLE, TOTAL, WAIT
from noisetop.tracing.tracer import Tracer

_LEAST_NS = 1_000
"""Shorter intervals are no moments worth a file."""


def worst_detectors(worst: WorstFolder, tracer: Tracer, period_ns: int) -> Iterator[Detector]:
    """For a tracer that runs; the threshold rises with the folder. ``period_ns``: of sums."""

    def bar() -> int:
        return max(worst.bar_ns, _LEAST_NS)

    entry_ns = tracer.calibration.most_ns if worst.by in BY_COST else 0
    if worst.by in (SINGLE, COST):
        yield SingleDetector(tracer.layout, bar, entry_ns)
    elif worst.by == TOTAL:
        yield TotalDetector(bar, tracer.start_ns, 0, period_ns, entry_ns)
    elif worst.by == WAIT:
        yield WaitDetector(tracer.layout, bar)
