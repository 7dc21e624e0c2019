"""Clocks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.trees import CPU, FAIL, PASS, SKIP, WARN, Case, stat

CASES = [
    Case("C15", PASS, "(tsc)"),
    Case(
        "C15",
        WARN,
        "The clock source is slow to read (hpet)",
        {"/sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet"},
        command="echo tsc >",
        undo="echo hpet >",
    ),
    Case(
        "C15",
        WARN,
        "The clock source is the hypervisor's (kvm-clock)",
        {"/sys/devices/system/clocksource/clocksource0/current_clocksource": "kvm-clock"},
    ),
    Case(
        "C15",
        FAIL,
        "The clock source is the hypervisor's (kvm-clock)",
        {"/sys/devices/system/clocksource/clocksource0/current_clocksource": "kvm-clock"},
        {"/proc/stat": stat(steal=3)},
    ),
    Case(
        "C15",
        FAIL,
        "jiffies",
        {"/sys/devices/system/clocksource/clocksource0/current_clocksource": "refined-jiffies"},
    ),
    Case(
        "C15",
        SKIP,
        "does not exist",
        {"/sys/devices/system/clocksource/clocksource0/current_clocksource": None},
    ),
    Case(
        "C15",
        SKIP,
        "is empty",
        {"/sys/devices/system/clocksource/clocksource0/current_clocksource": "\n"},
    ),
    Case("C16", PASS, "trusts"),
    Case(
        "C16",
        PASS,
        "this kind of CPU",
        {"/proc/cmdline": "", "/proc/cpuinfo": "flags : tsc constant_tsc nonstop_tsc tsc_adjust"},
    ),
    Case(
        "C16",
        WARN,
        "every ten minutes",
        {"/proc/cmdline": "tsc=nowatchdog"},
        command="change tsc=nowatchdog into tsc=reliable",
    ),
    Case("C16", FAIL, "twice a second", {"/proc/cmdline": ""}, command="add tsc=reliable"),
    Case(
        "C16",
        FAIL,
        "twice a second",
        {
            "/proc/cmdline": "",
            "/proc/cpuinfo": "flags : tsc constant_tsc nonstop_tsc tsc_adjust",
            f"{CPU}/online": "0-4",
            **{f"{CPU}/cpu{c}/topology/physical_package_id": str(c) for c in range(5)},
        },
    ),
    Case("C16", SKIP, "not x86", {"/proc/cpuinfo": "Features : fp asimd"}),
    Case("C16", SKIP, "does not exist", {"/proc/cmdline": None}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.check}-{case.status}-{case.says}")
def test_case(case: Case, tmp_path: Path) -> None:
    case.verify(tmp_path)
