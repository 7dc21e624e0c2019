"""From ticks of the counter to CLOCK_MONOTONIC, the clock of the events."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from noisetop.errors import NoisetopError
from noisetop.probe.sampler import ClockPair

_MIN_PAIRS = 2


@dataclass(frozen=True, slots=True)
class Clock:
    """Straight lines between pairs, so that it follows the slewing of CLOCK_MONOTONIC."""

    ticks: npt.NDArray[np.int64]
    """Middle of the two readings of each pair."""
    ns: npt.NDArray[np.int64]
    ticks_per_ns: float
    pair_error_ns: float
    """Half the distance of the two readings, of the worst pair."""
    line_error_ns: float
    """How far a pair lies from the line between its neighbours, at most."""

    @property
    def uncertainty_ns(self) -> float:
        """Bound on the error of to_ns() between the first pair and the last."""
        return self.pair_error_ns + self.line_error_ns

    def to_ns(self, ticks: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Moments on CLOCK_MONOTONIC; beyond the pairs the mean rate goes on."""
        place = np.clip(np.searchsorted(self.ticks, ticks, "right") - 1, 0, len(self.ticks) - 2)
        rate = np.diff(self.ns) / np.diff(self.ticks)
        # Relative to the segment's beginning: such offsets are small enough for a double.
        offset = (ticks - self.ticks[place]) * rate[place]
        return self.ns[place] + np.rint(offset).astype(np.int64)

    def offset_ns(self, pairs: Iterable[ClockPair]) -> float:
        """How far pairs read on another CPU lie from this clock, at most, beyond their own width.

        Above zero the counters of the CPUs are not in step.
        """
        worst = 0.0
        for pair in pairs:
            middle = np.array([(pair.before_ticks + pair.after_ticks) // 2], np.int64)
            half_ns = (pair.after_ticks - pair.before_ticks) / 2 / self.ticks_per_ns
            worst = max(worst, abs(float(self.to_ns(middle)[0]) - pair.ns) - half_ns)
        return max(worst - self.uncertainty_ns, 0.0)


def fit_clock(pairs: Iterable[ClockPair]) -> Clock:
    """A clock from pairs taken over the whole run."""
    rows = np.array(sorted(set(pairs)), np.int64).reshape(-1, 3)
    if len(rows) < _MIN_PAIRS or rows[0, 1] == rows[-1, 1]:
        raise NoisetopError("the run was too short to calibrate the counter: use a longer -d")
    ticks = (rows[:, 0] + rows[:, 2]) // 2
    ns = rows[:, 1]
    rate = float(ticks[-1] - ticks[0]) / float(ns[-1] - ns[0])
    half_ns = float((rows[:, 2] - rows[:, 0]).max()) / 2 / rate
    return Clock(ticks, ns, rate, half_ns, _line_error_ns(ticks, ns))


def _line_error_ns(ticks: npt.NDArray[np.int64], ns: npt.NDArray[np.int64]) -> float:
    if len(ticks) < 3:
        return 0.0
    span = (ticks[2:] - ticks[:-2]).astype(float)
    expected = (ns[2:] - ns[:-2]) * ((ticks[1:-1] - ticks[:-2]) / span)
    return float(np.abs(expected - (ns[1:-1] - ns[:-2])).max())
