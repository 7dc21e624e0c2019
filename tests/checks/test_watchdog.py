"""Watchdogs of the kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.trees import CPU, FAIL, PASS, SKIP, WARN, Case

CASES = [
    Case("C08", PASS, "The soft lockup watchdog is off on these CPUs"),
    Case(
        "C08",
        PASS,
        "is off",
        {"/proc/sys/kernel/watchdog": "0", "/proc/sys/kernel/watchdog_cpumask": "0-3"},
    ),
    Case(
        "C08",
        PASS,
        "This kernel has no soft lockup watchdog",
        {"/proc/sys/kernel/watchdog_cpumask": None},
    ),
    Case(
        "C08",
        FAIL,
        "The soft lockup watchdog runs on CPU 3 every few seconds",
        {"/proc/sys/kernel/watchdog_cpumask": "0-1,3"},
        command="echo 0-1 > /proc/sys/kernel/watchdog_cpumask",
        undo="0-1,3",
    ),
    Case(
        "C08",
        SKIP,
        "not visible in this container",
        {"/proc/sys/kernel/watchdog_cpumask": None, "/.dockerenv": ""},
    ),
    Case("C08", SKIP, "every CPU is watched", cpus=(0, 1, 2, 3)),
    Case("C09", PASS, "is off"),
    Case(
        "C09",
        WARN,
        "runs on the other CPUs",
        {"/proc/sys/kernel/nmi_watchdog": "1"},
        command="kernel.nmi_watchdog=0",
        undo="kernel.nmi_watchdog=1",
    ),
    Case(
        "C09",
        FAIL,
        "interrupts CPUs 2-3",
        {"/proc/sys/kernel/nmi_watchdog": "1", "/proc/sys/kernel/watchdog_cpumask": "0-3"},
    ),
    Case("C09", SKIP, "does not exist", {"/proc/sys/kernel/nmi_watchdog": None}),
    Case("C18", PASS, "at every boot"),
    Case(
        "C18",
        PASS,
        "The soft lockup watchdog is off at boot",
        {"/proc/cmdline": "nosoftlockup"},
        cpus=(1, 2),
    ),
    Case(
        "C18",
        WARN,
        "The soft lockup watchdog is off, but on again after a reboot",
        {f"{CPU}/nohz_full": ""},
        command="add nosoftlockup",
    ),
    Case(
        "C18",
        WARN,
        "The soft lockup watchdog is on at boot",
        {f"{CPU}/nohz_full": "", "/proc/sys/kernel/watchdog_cpumask": "0-3"},
    ),
    Case(
        "C18",
        SKIP,
        "No soft lockup watchdog is visible",
        {"/proc/sys/kernel/watchdog_cpumask": None, "/proc/sys/kernel/soft_watchdog": None},
    ),
    Case("C18", SKIP, "does not exist", {f"{CPU}/nohz_full": "", "/proc/cmdline": None}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.check}-{case.status}-{case.says}")
def test_case(case: Case, tmp_path: Path) -> None:
    case.verify(tmp_path)
