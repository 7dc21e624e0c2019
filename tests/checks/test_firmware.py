"""Firmware and error polling."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.trees import FAIL, KTHREAD, PASS, SKIP, WARN, Case, task

CASES = [
    Case("C51", PASS, "No system management interrupt within 2.0 s"),
    Case(
        "C51",
        WARN,
        "2 times within 2.0 s",
        later={f"/dev/cpu/{c}/msr": b"\0" * 0x34 + (502).to_bytes(8, "little") for c in range(4)},
    ),
    Case(
        "C51",
        FAIL,
        "20 times",
        later={f"/dev/cpu/{c}/msr": b"\0" * 0x34 + (520).to_bytes(8, "little") for c in range(4)},
    ),
    Case("C51", SKIP, "modprobe msr", {"/dev/cpu/0/msr": None}),
    Case("C51", SKIP, "is short", {"/dev/cpu/0/msr": b"1"}),
    Case("C51", SKIP, "no housekeeping CPU is left", cpus=(0, 1, 2, 3)),
    Case("C51", SKIP, "only Intel", {"/proc/cpuinfo": "vendor_id : AuthenticAMD"}),
    Case("C51", SKIP, "firmware of its host", {"/proc/cpuinfo": "flags : hypervisor"}),
    Case("C54", PASS, "is not polled"),
    Case(
        "C54",
        PASS,
        "is not polled",
        {
            "/sys/devices/system/machinecheck/machinecheck2/check_interval": "300",
            "/sys/devices/system/machinecheck/machinecheck2/ignore_ce": "1",
        },
    ),
    Case(
        "C54",
        WARN,
        "on CPU 2 polls for hardware errors every 300 s",
        {"/sys/devices/system/machinecheck/machinecheck2/check_interval": "300"},
        command="echo 1 > /sys/devices/system/machinecheck/machinecheck2/ignore_ce",
        undo="echo 0 >",
    ),
    Case(
        "C54",
        FAIL,
        "every 1 s",
        {"/sys/devices/system/machinecheck/machinecheck2/check_interval": "1"},
    ),
    Case("C54", WARN, "kipmi0 (97)", task(97, "kipmi0", "0", flags=KTHREAD)),
    Case(
        "C54",
        WARN,
        "every 1000 ms",
        {
            "/sys/module/edac_core/parameters/edac_mc_poll_msec": "1000",
            "/sys/devices/system/edac/mc/mc0/mc_name": "x",
        },
        command="echo 10000 >",
        undo="echo 1000 >",
    ),
    Case("C54", SKIP, "does not exist or is hidden", {"/sys/devices/system/machinecheck/": None}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.check}-{case.status}-{case.says}")
def test_case(case: Case, tmp_path: Path) -> None:
    case.verify(tmp_path)
