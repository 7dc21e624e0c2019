"""Interrupts of devices."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.trees import FAIL, PASS, SKIP, WARN, Case, interrupts, irq, task

CASES = [
    Case("C04", PASS, "can be moved by hand"),
    Case(
        "C04",
        PASS,
        "Kernel-managed interrupts are kept off these CPUs",
        irq(40, "nvme0q3", "0", "0-3"),
    ),
    Case(
        "C04",
        FAIL,
        "arrive here: 40 nvme0q3",
        {
            **irq(40, "nvme0q3", "2"),
            "/proc/cmdline": "isolcpus=2-3",
            "/proc/interrupts": interrupts({"40": "0 0 7 0"}),
        },
        command="change isolcpus=2-3 into isolcpus=managed_irq,domain,2-3",
        undo="into isolcpus=2-3",
    ),
    Case(
        "C04",
        WARN,
        "1 kernel-managed interrupts may be placed on these CPUs",
        {
            **irq(40, "nvme0q3", "2"),
            "/proc/cmdline": "",
            "/proc/interrupts": interrupts({"40": "0 0 0 0"}),
        },
    ),
    Case(
        "C04",
        WARN,
        "1 kernel-managed interrupts may be placed on these CPUs",
        {
            **irq(40, "strange", "0"),
            "/proc/cmdline": "",
            "/sys/kernel/debug/irq/irqs/40": "IRQD_AFFINITY_MANAGED",
        },
    ),
    Case("C04", SKIP, "lists no interrupts", {"/proc/irq/": None}),
    Case("C04", SKIP, "does not exist", {"/proc/cmdline": None}),
    Case("C19", PASS, "All 1 device interrupts"),
    Case("C19", PASS, "All 1 device interrupts", {"/proc/irq/41/effective_affinity_list": "2"}),
    Case(
        "C19",
        FAIL,
        "go to CPU 2: 36 eth0-rx",
        irq(36, "eth0-rx", "2", "0-3"),
        command="echo 0-1 > /proc/irq/36/smp_affinity_list",
        undo="echo 0-3 >",
    ),
    Case(
        "C19",
        FAIL,
        "go to CPU 3: 36 eth0-rx",
        {"/proc/irq/36/effective_affinity_list": None, "/proc/irq/36/smp_affinity_list": "3"},
    ),
    Case(
        "C19",
        FAIL,
        "41 b, 40 a",
        {
            **irq(40, "a", "2", "2"),
            **irq(41, "b", "3", "0-3"),
            "/proc/interrupts": interrupts({"40": "0 0 1 0", "41": "0 0 0 9"}),
        },
        command="for i in 41 40;",
        undo="echo 0-3 > /proc/irq/41/smp_affinity_list; echo 2 > /proc/irq/40/smp_affinity_list",
    ),
    Case("C19", WARN, "cannot be moved", irq(40, "nvme0q3", "2")),
    Case("C19", SKIP, "lists no interrupts", {"/proc/irq/": None}),
    Case(
        "C19",
        SKIP,
        "holds no CPU list",
        {"/proc/irq/36/": None, "/proc/irq/36/effective_affinity_list": "nonsense"},
    ),
    Case("C20", PASS, "No device interrupt"),
    Case(
        "C20",
        PASS,
        "No device interrupt",
        later={
            "/proc/interrupts": interrupts(
                {"36": "950 0 0 0", "LOC": "9 9 999 999", "NMI": "0 0 0 0"}
            )
        },
    ),
    Case(
        "C20", WARN, "1 of 36 eth0-rx", later={"/proc/interrupts": interrupts({"36": "900 0 1 0"})}
    ),
    Case(
        "C20", FAIL, "2 of 36 eth0-rx", later={"/proc/interrupts": interrupts({"36": "900 0 1 1"})}
    ),
    Case("C20", FAIL, "5 of NMI", later={"/proc/interrupts": interrupts({"NMI": "0 0 5 0"})}),
    Case("C20", SKIP, "cannot be read", {"/proc/interrupts": None}),
    Case("C21", PASS, "will go to other CPUs"),
    Case(
        "C21",
        WARN,
        "may go to CPUs 2-3",
        {"/proc/irq/default_smp_affinity": "f\n"},
        command="echo 3 > /proc/irq/default_smp_affinity",
        undo="echo f >",
    ),
    Case("C21", SKIP, "holds no CPU mask", {"/proc/irq/default_smp_affinity": "xyz"}),
    Case("C22", PASS, "is not running"),
    Case("C22", PASS, "leaves these CPUs alone", task(60, "irqbalance", "0-1")),
    Case(
        "C22",
        PASS,
        "leaves these CPUs alone",
        {**task(60, "irqbalance", "0-1"), "/etc/default/irqbalance": "IRQBALANCE_BANNED_CPUS=0c"},
    ),
    Case(
        "C22",
        WARN,
        "to CPU 3",
        {**task(60, "irqbalance", "0-1"), "/proc/60/environ": "A=b\0IRQBALANCE_BANNED_CPULIST=2\0"},
        command="systemctl stop irqbalance",
        undo="start",
    ),
    Case(
        "C22",
        FAIL,
        "to CPU 1",
        {**task(60, "irqbalance", "0"), **irq(36, "eth0-rx", "1")},
        cpus=(1,),
    ),
    Case("C22", SKIP, "hidden", {"/proc/2/": None}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.check}-{case.status}-{case.says}")
def test_case(case: Case, tmp_path: Path) -> None:
    case.verify(tmp_path)


def test_hostile_affinity_never_becomes_a_command(tmp_path: Path) -> None:
    changes = irq(36, "$(reboot)", "2", "0; reboot")
    fix = Case("C19", FAIL, "36 $(reboot)", changes).verify(tmp_path).verdict.remedy
    assert fix is not None
    assert "reboot" not in fix.command + fix.undo


def test_culprits_are_named_for_the_join_with_events(tmp_path: Path) -> None:
    result = Case("C19", FAIL, "", irq(36, "eth0-rx", "2")).verify(tmp_path)
    assert result.explains_source(("irq", "36 eth0-rx"))
    assert not result.explains_source(("irq", "361 eth0-rx"))
    assert not result.explains_source(("irq",))
