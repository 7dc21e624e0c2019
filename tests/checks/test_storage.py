"""Block devices."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.trees import FAIL, PASS, SKIP, WARN, Case

CASES = [
    Case("C57", PASS, "where the interrupt arrives"),
    Case(
        "C57",
        WARN,
        "or one near it: sda",
        {"/sys/block/sda/queue/rq_affinity": "1"},
        command="echo 0 > /sys/block/sda/queue/rq_affinity",
        undo="echo 1 >",
    ),
    Case(
        "C57",
        FAIL,
        "Block I/O completions are sent to the submitting CPU: sda",
        {"/sys/block/sda/queue/rq_affinity": "2"},
        command="echo 0 >",
        undo="echo 2 >",
    ),
    Case("C57", SKIP, "cannot be read", {"/sys/block/": None}),
    Case("C57", SKIP, "cannot be read", {"/sys/block/sda/queue/rq_affinity": "\xff"}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.check}-{case.status}-{case.says}")
def test_case(case: Case, tmp_path: Path) -> None:
    case.verify(tmp_path)
