"""Hosts on which a source takes far more time than on the others."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from noisetop.fleet.rates import Rates, Table

FEWEST = 8
"""Hosts of a group: with fewer nobody knows what is usual."""
FLOOR_NS = 10_000
"""Per second and CPU, 0.001 % of its time: added to every figure, so that a source
which most hosts hardly have is not judged by ratios of nothing."""
_LEAST_SPREAD = 0.1
"""Of logarithms, between hosts: those that happen to agree better are not told apart by less."""
_TO_DEVIATION = 1.4826
"""From the median of absolute deviations to the standard deviation of a normal distribution."""


@dataclass(frozen=True, slots=True)
class Outlier:
    """A source on a host. Times are ns per second and CPU."""

    host: str
    source: str
    time_ns: float
    usual_ns: float
    """The median of all hosts."""
    deviations: float
    """How many standard deviations of the logarithm it lies above the median."""
    max_ns: int
    """Longest single interruption."""

    @property
    def excess_ns(self) -> float:
        """By how much it is out of line."""
        return self.time_ns - self.usual_ns


def threshold(tests: int, alpha: float) -> float:
    """Standard deviations that none of so many figures exceeds by chance (Bonferroni)."""
    return NormalDist().inv_cdf(1 - alpha / max(tests, 1))


def outliers(rates: Rates[str], squares: Table, alpha: float) -> list[Outlier]:
    """Hosts whose source is out of line, largest excess first; none of fewer than FEWEST hosts.

    ``squares``: of noisetop.fleet.rates.squares(), which tell how much of a figure is the chance
    of a few long interruptions. ``alpha``: the family-wise error rate where figures of hosts are
    log-normal.
    """
    hosts, sources = rates.net_ns.shape
    if hosts < FEWEST or not sources:
        return []
    limit = threshold(hosts * sources, alpha)
    per_s = rates.per_s
    logs = np.log(per_s + FLOOR_NS)
    usual = np.median(logs, axis=0)
    spread = np.maximum(_TO_DEVIATION * np.median(np.abs(logs - usual), axis=0), _LEAST_SPREAD)
    # The relative error of a sum of so many durations, whose number is Poisson distributed.
    error = np.sqrt(squares) / np.maximum(rates.net_ns, 1)
    surely = np.log(per_s * np.maximum(1 - limit * error, 0) + FLOOR_NS)
    found = np.argwhere(surely > usual + limit * spread)
    medians = np.median(per_s, axis=0)
    rows = [
        Outlier(
            rates.units[host],
            rates.sources[source],
            float(per_s[host, source]),
            float(medians[source]),
            float((logs[host, source] - usual[source]) / spread[source]),
            int(rates.max_ns[host, source]),
        )
        for host, source in found.tolist()
    ]
    return sorted(rows, key=lambda one: (-one.excess_ns, one.host, one.source))
