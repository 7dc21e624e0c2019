"""The configuration beside the noise: what the isolation audit says about a finding."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from noisetop.checks import CheckResult, Status
from noisetop.checks.result import SourcePattern
from noisetop.diagnosis.evidence import Path, is_program
from noisetop.diagnosis.finding import Finding

_MOST = 3


def related(finding: Finding, audit: Sequence[CheckResult]) -> tuple[CheckResult, ...]:
    """Checks that complain and can be the reason of a finding, those that say it most narrowly."""
    programs = {share.path for share in finding.shares if share.is_program}
    paths = [
        (path, path in programs or is_program(path))
        for path in (*finding.paths, *(share.path for share in finding.shares))
    ]
    scored = [
        (_narrowest(result, paths), result)
        for result in audit
        if result.status in (Status.FAIL, Status.WARN)
        and any(_begins(*path, pattern) for path in paths for pattern in result.explains)
    ]
    scored.sort(key=lambda item: (-item[0], item[1].check.rank, item[1].id))
    return tuple(result for _, result in scored[:_MOST])


def _narrowest(result: CheckResult, paths: Sequence[tuple[Path, bool]]) -> int:
    return max(
        sum(len(step.replace("*", "")) for step in pattern)
        for pattern in result.explains
        if any(_begins(*path, pattern) for path in paths)
    )


def _begins(path: Path, of_program: bool, pattern: SourcePattern) -> bool:
    # What holds for all threads says nothing about those of the kernel.
    if pattern == ("thread",) and not of_program:
        return False
    return len(pattern) <= len(path) and all(map(fnmatchcase, path, pattern))
