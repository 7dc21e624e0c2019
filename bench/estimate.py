"""Figures with their uncertainty: medians over rounds, bootstrap intervals, ratios."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

RESAMPLES = 4000
_SEED = 20_000
_CONFIDENCE = (2.5, 97.5)
QUIET_PERCENTILE = 10
"""Of the rounds: a virtual machine has states that last for seconds and in which the same
interruption takes a fifth longer, and what else its host does only adds. The quiet rounds of two
tools compare; in the median of a few rounds each has another mixture of states."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure and its 95 % interval."""

    value: float
    low: float
    high: float

    def as_json(self) -> dict[str, float | None]:
        """Rounded to what can mean anything; None for what is infinite, as JSON has no such."""
        parts = {"value": self.value, "low": self.low, "high": self.high}
        return {n: round(part, 6) if np.isfinite(part) else None for n, part in parts.items()}


def estimate(statistic: Callable[..., Floats], *samples: ArrayLike) -> Estimate:
    """A statistic of samples whose n-th values come from the same round.

    Percentile bootstrap over rounds: every resample takes the same rounds of all samples, because
    what disturbs a round disturbs all of it. ``statistic`` gets arrays whose last axis is rounds.
    Raises ValueError without samples of one equal length.
    """
    arrays = [np.asarray(sample, dtype=float) for sample in samples]
    lengths = {len(array) for array in arrays}
    if len(lengths) != 1 or lengths == {0}:
        raise ValueError("an estimate needs samples of one equal length")
    rounds = lengths.pop()
    chosen = np.random.default_rng(_SEED).integers(0, rounds, (RESAMPLES, rounds))
    spread = statistic(*(array[chosen] for array in arrays))
    low, high = np.percentile(spread, _CONFIDENCE, method="nearest")
    return Estimate(float(statistic(*arrays)), float(low), float(high))


def median(sample: Floats) -> Floats:
    """Median over rounds."""
    return np.asarray(np.median(sample, axis=-1))


def median_difference(sample: Floats, base: Floats) -> Floats:
    """Median over rounds of the difference within the round."""
    return np.asarray(np.median(sample - base, axis=-1))


def quiet(*samples: Floats) -> Floats:
    """The figure of the quiet rounds; of several samples that of each, and of these the mean."""
    each = [np.percentile(sample, QUIET_PERCENTILE, axis=-1) for sample in samples]
    return np.asarray(np.mean(each, axis=0))


def quiet_difference(during: Floats, before: Floats, after: Floats) -> Floats:
    """What the quiet rounds have on top of the quiet periods around them."""
    return quiet(during) - quiet(before, after)


def ratio_of_differences(*samples: Floats) -> Floats:
    """Quiet difference of three samples over that of three others; infinite where theirs is not
    above 0."""
    return _ratio(quiet_difference(*samples[:3]), quiet_difference(*samples[3:]))


def ratio_of_medians(ours: Floats, theirs: Floats) -> Floats:
    """Median of a sample over that of another one; infinite where theirs is not above 0."""
    return _ratio(median(ours), median(theirs))


def relative_difference(during: Floats, before: Floats, after: Floats) -> Floats:
    """Quiet difference as a share of what it came on top of."""
    return np.asarray(quiet_difference(during, before, after) / quiet(before, after))


def _ratio(ours: Floats, theirs: Floats) -> Floats:
    return np.where(theirs > 0, ours / np.where(theirs > 0, theirs, 1), np.inf)
