"""What a view is fed with: one sample per interval, from a tracer or from a recording."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from noisetop.diagnosis import Diagnosis
from noisetop.live.position import Position
from noisetop.machine.topology import CpuPlace
from noisetop.summary.summary import Summary
from noisetop.summary.worst import WorstInterruption


@dataclass(frozen=True, slots=True)
class Sample:
    """The counters at one moment."""

    total: Summary
    """Since the start, or since the last reset."""
    interval: Summary
    """Since the sample before."""
    diagnosis: Diagnosis | None = None
    """What causes the noise, where that was asked for; it may be some seconds old."""
    ended: str = ""
    """Why there will be no further sample, in words for the user; empty: it goes on."""
    position: Position | None = None
    """The part of a recording that both summaries are of; None: of a running trace."""
    moments: tuple[WorstInterruption, ...] | None = None
    """The longest intervals of noise, longest first, where that was asked for: of a running trace
    in the total, of a recording those that ended in the part. None: not known."""


class Feed(Protocol):
    """Where samples come from. All methods may be called from any one thread at a time."""

    title: str
    """What is watched, for the head line: ``CPUs 2-3`` or ``PID 4711 (nginx)``."""
    interval_ns: int
    places: Mapping[int, CpuPlace]
    """Where the CPUs lie, as far as that is known."""

    @property
    def interrupted(self) -> bool:
        """Whether a signal asked for the end: a view that takes keys does not wait for one."""

    def next(self) -> Sample:
        """Waits for the end of the interval that runs, then returns its sample."""

    def reset(self) -> None:
        """Starts ``total`` anew with the interval that runs."""

    def diagnose(self, *, wanted: bool) -> None:
        """Has samples carry a diagnosis, or no longer; callable from any thread."""

    def want_moments(self, *, wanted: bool) -> None:
        """Has samples carry the worst moments, or no longer; callable from any thread."""

    def wake(self) -> None:
        """Ends the wait of next() early; callable from any thread."""
