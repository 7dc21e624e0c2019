"""What a spinning thread saw."""

from __future__ import annotations

from pathlib import Path

import pytest

from noisetop.machine.spin import Spin
from tests.checks.trees import FAIL, PASS, SKIP, WARN, Case

CASES = [
    Case("C52", PASS, "longer than 10.0 µs", spins=(Spin(2, 10**9, (5,), (4_000,)),)),
    Case(
        "C52",
        WARN,
        "A program on CPU 2 was interrupted for 50.0 µs",
        spins=(Spin(2, 10**9, (5,), (50_000,)),),
    ),
    Case(
        "C52",
        FAIL,
        "A program on CPU 3 was interrupted for 2.00 ms",
        spins=(Spin(2, 10**9), Spin(3, 10**9, (5,), (2_000_000,))),
    ),
    Case("C52", SKIP, "add --spin", spins=()),
    Case("C52", SKIP, "CPU 2 could not be measured", spins=(Spin(2, 10**9, why="no"),)),
    Case("C53", PASS, "9.0 times a second", spins=(Spin(2, 10**9, tuple(range(9)), (3_000,) * 9),)),
    Case(
        "C53", WARN, "20 times a second", spins=(Spin(2, 10**9, tuple(range(20)), (3_000,) * 20),)
    ),
    Case(
        "C53",
        FAIL,
        "250 Hz timer tick",
        spins=(Spin(2, 10**9, tuple(range(0, 10**9, 4_000_000)), (3_000,) * 250),),
    ),
    Case("C53", SKIP, "add --spin", spins=()),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.check}-{case.status}-{case.says}")
def test_case(case: Case, tmp_path: Path) -> None:
    case.verify(tmp_path)
