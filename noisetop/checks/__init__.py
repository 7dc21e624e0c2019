"""The isolation audit: checks of how a machine is set up, one module per subject.

A new check is a function with the decorator ``check`` in a module of this package.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from functools import cache

from noisetop.checks.audited import AuditedMachine
from noisetop.checks.result import Check, CheckResult, Verdict, skipped
from noisetop.checks.status import Goal, Status
from noisetop.machine.reading import CannotTellError

__all__ = [
    "AuditedMachine",
    "Check",
    "CheckResult",
    "Goal",
    "Status",
    "all_checks",
    "find",
    "run_checks",
]

_BY_STATUS = {status: place for place, status in enumerate(Status)}
NO_SPARE_CPU = "needs a housekeeping CPU, but every CPU is watched"


@cache
def all_checks() -> tuple[Check, ...]:
    """Every check of this package, by id."""
    found: dict[str, Check] = {}
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, Check):
                found[value.id] = value
    return tuple(found[check_id] for check_id in sorted(found))


def find(check_id: str) -> Check:
    """The check with an id. Raises KeyError."""
    return {check.id: check for check in all_checks()}[check_id]


def run_checks(
    machine: AuditedMachine, checks: Iterable[Check] | None = None
) -> tuple[CheckResult, ...]:
    """Results of the checks (default: all), worst first, then by what matters most."""
    results = [
        CheckResult(check, judge(check, machine))
        for check in (all_checks() if checks is None else checks)
    ]
    return tuple(sorted(results, key=lambda r: (_BY_STATUS[r.status], r.check.rank, r.id)))


def judge(check: Check, machine: AuditedMachine) -> Verdict:
    """One check on one machine."""
    if machine.goal not in check.goals:
        return skipped(f"not relevant for the goal {machine.goal}")
    if check.needs_spare_cpu and not machine.has_spare:
        return skipped(NO_SPARE_CPU)
    try:
        return check.judge(machine)
    except CannotTellError as reason:
        return Verdict(Status.SKIP, str(reason), reason.readings)
