"""Work queues."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.trees import CPU, FAIL, PASS, SKIP, Case

CASES = [
    Case("C23", PASS, "Unbound workqueues are kept off these CPUs"),
    Case(
        "C23",
        FAIL,
        "may run on CPU 3",
        {"/sys/devices/virtual/workqueue/cpumask": "0000000b", f"{CPU}/nohz_full": ""},
        command="echo 3 > /sys/devices/virtual/workqueue/cpumask",
        undo="echo b >",
    ),
    Case("C23", SKIP, "does not exist", {"/sys/devices/virtual/workqueue/cpumask": None}),
    Case("C23", SKIP, "every CPU is watched", cpus=(0, 1, 2, 3)),
    Case("C24", PASS, "No workqueue may use these CPUs"),
    Case(
        "C24",
        FAIL,
        "CPUs 2-3: writeback",
        {"/sys/devices/virtual/workqueue/cpumask": "f"},
        command="echo 3 > /sys/devices/virtual/workqueue/writeback/cpumask",
        undo="echo f >",
    ),
    Case(
        "C24",
        PASS,
        "No workqueue may use these CPUs",
        {
            "/sys/devices/virtual/workqueue/cpumask": "f",
            "/sys/devices/virtual/workqueue/writeback/cpumask": "1",
        },
    ),
    Case(
        "C24",
        SKIP,
        "/sys/devices/virtual/workqueue lists no workqueue with its",
        {"/sys/devices/virtual/workqueue/writeback/cpumask": None},
    ),
    Case(
        "C24",
        SKIP,
        "cannot be read or parsed",
        {"/sys/devices/virtual/workqueue/writeback/cpumask": "?"},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.check}-{case.status}-{case.says}")
def test_case(case: Case, tmp_path: Path) -> None:
    case.verify(tmp_path)


def test_nohz_full_alone_is_called_incomplete(tmp_path: Path) -> None:
    changes = {"/sys/devices/virtual/workqueue/cpumask": "f"}
    assert "nohz_full= alone" in Case("C23", FAIL, "", changes).verify(tmp_path).caveat


def test_odd_queue_name_is_quoted(tmp_path: Path) -> None:
    base = "/sys/devices/virtual/workqueue"
    changes = {f"{base}/cpumask": "f", f"{base}/a$(b)/cpumask": "f"}
    fix = Case("C24", FAIL, "a$(b)", changes).verify(tmp_path).verdict.remedy
    assert fix is not None
    assert "'a$(b)'" in fix.command
