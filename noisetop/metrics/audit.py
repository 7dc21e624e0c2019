"""The isolation audit as labels: it is made once, while there are the privileges for it."""

from __future__ import annotations

from noisetop.checks import AuditedMachine, run_checks


def check_results(cpus: tuple[int, ...]) -> dict[str, str]:
    """What became of each check of these CPUs, by id: ``pass``, ``warn``, ``fail`` or ``skip``.

    Checks that compare the kernel's counters over some time are inconclusive.
    """
    return {one.id: str(one.status) for one in run_checks(AuditedMachine(cpus=cpus))}
