"""How the kernel was built and started."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.trees import CPU, FAIL, GOOD_CONFIG, KTHREAD, PASS, SKIP, WARN, Case, task

CASES = [
    Case("C01", PASS, "This kernel was built with the options for CPU isolation"),
    Case(
        "C01",
        PASS,
        "This kernel was built with the options for CPU isolation",
        {"/proc/config.gz": None, "/boot/config-6.99.0-test": GOOD_CONFIG},
    ),
    Case(
        "C01",
        FAIL,
        "stop its tick",
        {
            "/proc/config.gz": None,
            "/boot/config-6.99.0-test": "CONFIG_RCU_NOCB_CPU=y\nCONFIG_CPU_ISOLATION=y\n",
            f"{CPU}/nohz_full": None,
        },
    ),
    Case(
        "C01",
        WARN,
        "The kernel can stop its tick; its other options cannot be",
        {"/proc/config.gz": b"no gzip"},
    ),
    Case("C01", SKIP, "neither", {"/proc/config.gz": None, f"{CPU}/nohz_full": None}),
    Case("C45", PASS, "do not go to a serial line"),
    Case(
        "C45",
        WARN,
        "Serious kernel messages",
        {"/sys/class/tty/console/active": "tty0 ttyS0"},
        command="sysctl -w kernel.printk='3 4 1 7'",
        undo="'4 4 1 7'",
    ),
    Case(
        "C45",
        FAIL,
        "Every kernel message",
        {"/sys/class/tty/console/active": "ttyS0", "/proc/sys/kernel/printk": "7 4 1 7"},
    ),
    Case(
        "C45",
        WARN,
        "ttyAMA0",
        {"/sys/class/tty/console/active": None, "/proc/cmdline": "console=ttyAMA0,115200"},
    ),
    Case("C45", SKIP, "hidden", {"/sys/class/tty/console/active": None}),
    Case("C46", PASS, "is off"),
    Case("C46", PASS, "does not audit", {"/proc/cmdline": ""}),
    Case(
        "C46",
        WARN,
        "are audited",
        {"/proc/cmdline": "", **task(95, "auditd", "0")},
        command="add audit=0",
    ),
    Case(
        "C46",
        WARN,
        "are audited",
        {"/proc/cmdline": "audit=1"},
        command="change audit=1 into audit=0",
    ),
    Case(
        "C46",
        SKIP,
        "see auditctl -s",
        {"/proc/cmdline": "", **task(95, "kauditd", "0", flags=KTHREAD)},
    ),
    Case("C46", SKIP, "does not exist", {"/proc/cmdline": None}),
    Case("C47", PASS, "1 mitigations are on, at some cost per system call"),
    Case(
        "C47",
        WARN,
        "read each other's memory",
        {"/proc/cmdline": "mitigations=off"},
        command="change mitigations=off into mitigations=auto",
    ),
    Case("C47", SKIP, "is hidden", {f"{CPU}/vulnerabilities/": None}),
    Case("C48", PASS, "This kernel was built without expensive debug options"),
    Case(
        "C48",
        FAIL,
        "CONFIG_KASAN",
        {"/proc/config.gz": None, "/boot/config-6.99.0-test": "CONFIG_KASAN=y\n"},
    ),
    Case(
        "C48",
        WARN,
        "each 100 ms",
        {
            "/proc/config.gz": None,
            "/boot/config-6.99.0-test": "CONFIG_KFENCE_STATIC_KEYS=y\n",
            "/sys/module/kfence/parameters/sample_interval": "100",
        },
        command="kfence.sample_interval=0",
    ),
    Case(
        "C48",
        PASS,
        "This kernel was built without expensive debug options",
        {
            "/proc/config.gz": None,
            "/boot/config-6.99.0-test": "CONFIG_KFENCE=y\n",
            "/sys/module/kfence/parameters/sample_interval": "100",
        },
    ),
    Case("C48", SKIP, "neither", {"/proc/config.gz": None}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.check}-{case.status}-{case.says}")
def test_case(case: Case, tmp_path: Path) -> None:
    case.verify(tmp_path)
