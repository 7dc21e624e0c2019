"""Network queues and steering."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.trees import FAIL, PASS, SKIP, WARN, Case, irq

CASES = [
    Case("C55", PASS, "None of 1 receive queues steers packets here"),
    Case(
        "C55",
        FAIL,
        "Receive packet steering sends packets to CPU 3: eth0",
        {"/sys/class/net/eth0/queues/rx-0/rps_cpus": "00000000,00000008"},
        command="echo 0 > /sys/class/net/eth0/queues/rx-0/rps_cpus",
        undo="echo 8 >",
    ),
    Case(
        "C55",
        WARN,
        "new interfaces",
        {"/proc/sys/net/core/rps_default_mask": "c"},
        command="echo 3 >",
        undo="echo c >",
    ),
    Case(
        "C55",
        WARN,
        "Packets are processed on the CPU that the reading program",
        {
            "/proc/sys/net/core/rps_sock_flow_entries": "4096",
            "/sys/class/net/eth0/queues/rx-0/rps_flow_cnt": "64",
        },
        command="net.core.rps_sock_flow_entries=0",
        undo="=4096",
    ),
    Case("C55", SKIP, "not all interfaces", {"/.dockerenv": ""}),
    Case("C55", SKIP, "no receive queues", {"/sys/class/net/": None}),
    Case("C56", PASS, "to other CPUs"),
    Case(
        "C56",
        FAIL,
        "interrupt CPU 2: eth0 (eth0-rx)",
        irq(36, "eth0-rx", "2", "0-3"),
        command="echo 0-1 > /proc/irq/36/smp_affinity_list",
        undo="echo 0-3 >",
    ),
    Case("C56", SKIP, "no network card", {"/sys/class/net/": None}),
    Case("C56", SKIP, "lists no interrupts", {"/proc/irq/": None}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.check}-{case.status}-{case.says}")
def test_case(case: Case, tmp_path: Path) -> None:
    case.verify(tmp_path)
