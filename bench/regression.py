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
    unsure: tuple[str, ...]
    """Likewise, where it may be chance."""
    compared: int
    left_out: tuple[str, ...]
    """Names that the baseline has and this run has not."""


def compare(
    baseline: Mapping[str, Mapping[str, float]],
    now: Mapping[str, Mapping[str, float]],
    tolerance: float = TOLERANCE,
) -> Comparison:
    """Which ratios (value, low, high) got worse by more than a share of what they were.

    Where the two intervals overlap it may be chance, as few rounds or a busy machine bring it.
    """
    common = [name for name in baseline if name in now]
    beyond = [
        name for name in common if now[name]["value"] > baseline[name]["value"] * (1 + tolerance)
    ]
    lines = {
        name: f"{name}: {now[name]['value']:.2f} ({now[name]['low']:.2f} to "
        f"{now[name]['high']:.2f}), was {baseline[name]['value']:.2f} "
        f"({baseline[name]['low']:.2f} to {baseline[name]['high']:.2f})"
        for name in beyond
    }
    return Comparison(
        worse=tuple(lines[name] for name in beyond if now[name]["low"] > baseline[name]["high"]),
        unsure=tuple(lines[name] for name in beyond if now[name]["low"] <= baseline[name]["high"]),
        compared=len(common),
        left_out=tuple(name for name in baseline if name not in now),
    )
