"""Failed checks beside the cost measured for them: noise of the sources that each one explains."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import numpy as np

from noisetop.fleet.audits import PASS, Audit, AuditedCheck
from noisetop.fleet.rates import Rates


@dataclass(frozen=True, slots=True)
class HostCost:
    """What the sources of a check took on one host."""

    host: str
    per_s_ns: float
    """Net time in ns per second and CPU."""
    source: str
    """The largest of them; empty: none occurred."""


@dataclass(frozen=True, slots=True)
class FailedCheck:
    """One check over the hosts that were audited and recorded. Two checks may explain the same
    noise, so costs do not add up."""

    id: str
    name: str
    hosts: int
    """On which it fails."""
    passing: int
    """On which it passes."""
    per_s_ns: float | None
    """Mean over the hosts on which it fails; None: it explains no source."""
    passing_per_s_ns: float | None
    """Mean of the same sources where it passes; None: it passes nowhere."""
    worst: HostCost
    """The host on which it costs most."""
    cause: str
    """As found there."""


CostOf = Callable[[str, AuditedCheck], HostCost]


def failed_checks(
    audits: Mapping[str, Audit], rates: Rates[str], statuses: Collection[str]
) -> list[FailedCheck]:
    """Checks with one of these statuses on any host, those that cost most first. ``rates``: hosts
    and all their sources, as they are called there."""
    rows = {host: row for row, host in enumerate(rates.units)}
    paths = [tuple(source.split(" › ")) for source in rates.sources]
    found: dict[str, list[tuple[str, AuditedCheck]]] = {}
    passing: dict[str, list[str]] = {}
    for host, audit in audits.items():
        if host not in rows:
            continue
        for check in audit.checks:
            if check.status in statuses:
                found.setdefault(check.id, []).append((host, check))
            elif check.status == PASS:
                passing.setdefault(check.id, []).append(host)

    def cost(host: str, check: AuditedCheck) -> HostCost:
        mine = [at for at, path in enumerate(paths) if check.explains_source(path)]
        per_s = rates.per_s[rows[host]][mine]
        largest = rates.sources[mine[int(per_s.argmax())]] if per_s.any() else ""
        return HostCost(host, float(per_s.sum()), largest)

    result = [_over_hosts(failing, passing.get(one, []), cost) for one, failing in found.items()]
    return sorted(result, key=lambda one: (-(one.per_s_ns or 0) * one.hosts, -one.hosts, one.id))


def _over_hosts(
    failing: list[tuple[str, AuditedCheck]],
    passing: list[str],
    cost: CostOf,
) -> FailedCheck:
    costs = [cost(host, check) for host, check in failing]
    worst = max(range(len(costs)), key=lambda at: (costs[at].per_s_ns, costs[at].host))
    check = failing[worst][1]
    # Where it passes nothing was found, so what it explains is that of the worst host.
    elsewhere = [cost(host, check).per_s_ns for host in passing]
    measured = any(one.explains for _, one in failing)
    return FailedCheck(
        id=check.id,
        name=check.name,
        hosts=len(failing),
        passing=len(passing),
        per_s_ns=float(np.mean([one.per_s_ns for one in costs])) if measured else None,
        passing_per_s_ns=float(np.mean(elsewhere)) if measured and elsewhere else None,
        worst=costs[worst],
        cause=check.cause,
    )
