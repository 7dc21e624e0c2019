"""Sources of a fleet by the time that they take, with percentiles over all of its hosts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from noisetop.fleet.rates import Numbers, Rates
from noisetop.fleet.runs import Group, Run
from noisetop.tables.histogram import BUCKETS, Counts, percentile_ns

SHARES = (0.5, 0.99, 0.999)


@dataclass(frozen=True, slots=True)
class Ranked:
    """A source in a group of runs."""

    source: str
    per_s_ns: float
    """Time per second and CPU."""
    share: float
    """Of the noise of the group."""
    count: int
    net_ns: int
    percentiles_ns: tuple[int, ...]
    """Of single interruptions, for SHARES, at most 6.25 % too high."""
    max_ns: int
    hosts: int
    """On how many it occurs."""


def ranked(
    group: Group,
    rates: Rates[Group],
    histograms: Mapping[tuple[Group, str], Counts],
    seen: Numbers,
) -> list[Ranked]:
    """All sources of a group, largest first. ``seen``: on how many hosts of each group each source
    occurs, as rows and columns of ``rates``."""
    row = rates.units.index(group)
    total = int(rates.net_ns[row].sum())
    found = []
    for at in np.flatnonzero(rates.count[row]).tolist():
        source, net_ns = rates.sources[at], int(rates.net_ns[row, at])
        longest = int(rates.max_ns[row, at])
        counts = histograms.get((group, source), np.zeros(BUCKETS, np.int64))
        found.append(
            Ranked(
                source,
                float(rates.per_s[row, at]),
                net_ns / total if total else 0.0,
                int(rates.count[row, at]),
                net_ns,
                tuple(percentile_ns(counts, share, longest) for share in SHARES),
                longest,
                int(seen[row, at]),
            )
        )
    return sorted(found, key=lambda one: (-one.net_ns, one.source))


HostUnit = tuple[Group, str]
"""A group of runs and a host."""


@dataclass(frozen=True, slots=True)
class RankedHost:
    """A host in a group of runs."""

    host: str
    group: Group
    runs: int
    wall_ns: int
    """Of all its CPUs together."""
    net_ns: int
    """External noise."""
    max_single_ns: int
    lost: int
    top_source: str

    @property
    def per_s_ns(self) -> float:
        """Noise per second and CPU, ns."""
        return self.net_ns / max(self.wall_ns, 1) * 1_000_000_000


def ranked_hosts(
    runs_of: Mapping[HostUnit, Sequence[Run]], rates: Rates[HostUnit]
) -> list[RankedHost]:
    """All hosts of all groups, the noisiest first."""
    found = [_host(row, unit, runs_of[unit], rates) for row, unit in enumerate(rates.units)]
    return sorted(found, key=lambda one: (-one.per_s_ns, one.group, one.host))


def _host(row: int, unit: HostUnit, mine: Sequence[Run], rates: Rates[HostUnit]) -> RankedHost:
    net_ns = rates.net_ns[row]
    largest = int(net_ns.argmax()) if net_ns.any() else -1
    group, host = unit
    return RankedHost(
        host,
        group,
        len(mine),
        int(rates.wall_ns[row]),
        int(net_ns.sum()),
        max(run.max_single_ns for run in mine),
        sum(run.lost for run in mine),
        rates.sources[largest] if largest >= 0 else "",
    )
