"""Differences of /proc/interrupts and /proc/softirqs."""

from __future__ import annotations

import os
from pathlib import Path

from noisetop.probe.interrupt_counts import read_interrupt_counts


def tables(root: Path, timer: int, disk: int, rcu: int) -> None:
    (root / "proc").mkdir(exist_ok=True)
    (root / "proc/interrupts").write_text(
        "           CPU0       CPU2\n"
        f" 36:         5   {disk}  PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0\n"
        f"LOC:         9   {timer}   Local timer interrupts\n"
        "CAL:         0   2   Function call interrupts\n"
        "TLB:         0   2   TLB shootdowns\n"
        "NMI:         0   9   Non-maskable interrupts\n"
        "ERR:         0\n"
    )
    (root / "proc/softirqs").write_text(f"          CPU0  CPU2\n     RCU:    1  {rcu}\n")


def test_only_what_moved_on_the_wanted_cpus_is_told(tmp_path: Path) -> None:
    tables(tmp_path, 100, 7, 50)
    before = read_interrupt_counts((2,), tmp_path)
    tables(tmp_path, 350, 7, 60)
    since = read_interrupt_counts((2,), tmp_path).since(before)
    assert since.interrupts == {2: {"LOC Local timer interrupts": 250}}
    assert since.softirqs == {2: {"RCU": 10}}


def test_a_device_interrupt_carries_its_action(tmp_path: Path) -> None:
    tables(tmp_path, 1, 3, 1)
    assert read_interrupt_counts((2,), tmp_path).interrupts[2]["36 virtio1-req.0"] == 3


def test_smis_are_not_counted_where_no_register_tells(tmp_path: Path) -> None:
    assert read_interrupt_counts((0,), tmp_path).smi is None


def test_smis_are_read_from_a_cpu_of_this_process(tmp_path: Path) -> None:
    cpu = min(os.sched_getaffinity(0))
    register = tmp_path / f"dev/cpu/{cpu}/msr"
    register.parent.mkdir(parents=True)
    register.write_bytes(b"\0" * 0x34 + (7).to_bytes(8, "little"))
    (tmp_path / "proc").mkdir()
    for vendor, count in (("GenuineIntel", 7), ("AuthenticAMD", None)):
        (tmp_path / "proc/cpuinfo").write_text(f"processor : 0\nvendor_id\t: {vendor}\n")
        assert read_interrupt_counts((cpu,), tmp_path).smi == count
