"""Ratios against those of a baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

TOLERANCE = 0.10


@dataclass(frozen=True, slots=True)
class Comparison:
    """Ratios now against those of the baseline; larger is worse."""

    worse: tuple[str, ...]
    """A line for each that got worse by more than the tolerance."""
    compared: int
    left_out: tuple[str, ...]
    """Names that the baseline has and this run has not."""


def compare(
    baseline: Mapping[str, float], now: Mapping[str, float], tolerance: float = TOLERANCE
) -> Comparison:
    """Which ratios got worse by more than the tolerance, as a share of what they were."""
    common = [name for name in baseline if name in now]
    worse = tuple(
        f"{name}: {now[name]:.2f}, was {baseline[name]:.2f}"
        for name in common
        if now[name] > baseline[name] * (1 + tolerance)
    )
    left_out = tuple(name for name in baseline if name not in now)
    return Comparison(worse, len(common), left_out)
