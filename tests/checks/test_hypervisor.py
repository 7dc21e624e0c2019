"""Virtual machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.trees import FAIL, PASS, SKIP, WARN, Case, stat

CASES = [
    Case("C50", PASS, "No hypervisor"),
    Case("C50", WARN, "virtual machine", {"/proc/cpuinfo": "flags : tsc hypervisor"}),
    Case("C50", WARN, "virtual machine", {"/sys/hypervisor/type": "xen"}),
    Case(
        "C50",
        FAIL,
        "took time from CPUs 2-3",
        {"/proc/cpuinfo": "flags : tsc hypervisor"},
        {"/proc/stat": stat(steal=2)},
    ),
    Case("C50", SKIP, "shows no steal", {"/proc/stat": "cpu 1 2 3\ncpu2 1 2 3\n"}),
    Case("C50", SKIP, "cannot be read", {"/proc/cpuinfo": None}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.check}-{case.status}-{case.says}")
def test_case(case: Case, tmp_path: Path) -> None:
    case.verify(tmp_path)
