"""What a comparison knows of results that are single measurements: switches and memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from noisetop.compare.comparison import ALPHA, Figure
from noisetop.compare.statistics import (
    PERMUTATIONS,
    Vector,
    bootstrap_change,
    holm,
    permutation_p,
)
from noisetop.errors import NoisetopError
from noisetop.gaps.result import NumaResult, ProbeResult, SwitchResult

NS, GB_PER_S = "ns", "GB/s"
_MIN_VALUES = 5
"""Of each side; fewer can be dealt out in too few ways to reach significance."""


@dataclass(frozen=True, slots=True)
class Values:
    """Measurements of one thing, in ``unit``."""

    unit: str
    values: Vector

    @property
    def deviation(self) -> float:
        """Standard deviation; 0 of a single value."""
        return float(self.values.std(ddof=1)) if len(self.values) > 1 else 0.0


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured in one run, by label."""

    name: str
    kind: str
    by_label: Mapping[str, Values]


@dataclass(frozen=True, slots=True)
class ValueRow:
    """One thing that both runs measured."""

    label: str
    a: Values
    b: Values
    mean: Figure
    tested: bool
    """False: measured too few times to tell."""

    @property
    def changed(self) -> bool:
        """Whether the mean changed significantly."""
        return self.mean.significant


@dataclass(frozen=True, slots=True)
class ValueComparison:
    """The answer."""

    a: Measured
    b: Measured
    alpha: float
    rows: tuple[ValueRow, ...]

    @property
    def only_one(self) -> tuple[str, ...]:
        """Labels that one of the runs did not measure."""
        return tuple(sorted(set(self.a.by_label) ^ set(self.b.by_label)))


def measured_of_result(name: str, result: ProbeResult) -> Measured:
    """The values of a result of probe switch or numa."""
    if result.switch:
        return Measured(name, result.kind, _of_switch(result.switch))
    if result.numa:
        return Measured(name, result.kind, _of_numa(result.numa))
    raise NoisetopError(f"{name} holds nothing that can be compared")


def _of_switch(switch: SwitchResult) -> dict[str, Values]:
    """Slices are those of the timeline, without the first and the last, which the run cut."""
    rows = np.array(switch.timeline, np.float64).reshape(-1, 3)
    return {
        "time slice": Values(NS, (rows[:, 2] - rows[:, 1])[1:-1]),
        "switch from one to the next": Values(NS, rows[1:, 1] - rows[:-1, 2]),
    }


def _of_numa(numa: NumaResult) -> dict[str, Values]:
    found = {}
    for cell in numa.cells:
        where = f"CPU node {cell.cpu_node}, memory {cell.memory_node}"
        for kernel, speeds in cell.bandwidth.items():
            found[f"{kernel}, {where}"] = Values(GB_PER_S, np.array(speeds, np.float64))
        found[f"latency, {where}"] = Values(NS, np.array(cell.latency_ns, np.float64))
    return found


def compare_values(
    a: Measured, b: Measured, alpha: float = ALPHA, permutations: int | None = None
) -> ValueComparison:
    """Compares all labels; ``alpha`` is the family-wise error rate."""
    labels = [one for one in a.by_label if one in b.by_label]
    pairs = [(a.by_label[label], b.by_label[label]) for label in labels]
    tested = [min(len(x.values), len(y.values)) >= _MIN_VALUES for x, y in pairs]
    count = permutations or max(PERMUTATIONS, round(2 * sum(tested) / alpha))
    raw = [
        float(permutation_p(x.values[:, None], y.values[:, None], count)[0])
        for (x, y), enough in zip(pairs, tested, strict=True)
        if enough
    ]
    adjusted = iter(holm(np.array(raw)).tolist())
    rows = [
        ValueRow(label, x, y, _figure(x, y, next(adjusted) if enough else 1.0, alpha), enough)
        for label, (x, y), enough in zip(labels, pairs, tested, strict=True)
        if len(x.values) and len(y.values)
    ]
    return ValueComparison(a, b, alpha, tuple(rows))


def _figure(a: Values, b: Values, p: float, alpha: float) -> Figure:
    low, high = bootstrap_change(a.values[:, None], b.values[:, None])
    return Figure(
        a=float(a.values.mean()),
        b=float(b.values.mean()),
        low=float(low[0]),
        high=float(high[0]),
        p=p,
        significant=p <= alpha,
    )
