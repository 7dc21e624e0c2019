"""Differences of /proc/interrupts and /proc/softirqs."""

from __future__ import annotations

from pathlib import Path

from noisetop.probe.counters import read_counters, read_entries


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
    before = read_counters((2,), tmp_path)
    tables(tmp_path, 350, 7, 60)
    since = read_counters((2,), tmp_path).since(before)
    assert since.interrupts == {2: {"LOC Local timer interrupts": 250}}
    assert since.softirqs == {2: {"RCU": 10}}


def test_a_device_interrupt_carries_its_action(tmp_path: Path) -> None:
    tables(tmp_path, 1, 3, 1)
    assert read_counters((2,), tmp_path).interrupts[2]["36 virtio1-req.0"] == 3


def test_smis_are_not_counted_where_no_register_tells(tmp_path: Path) -> None:
    assert read_counters((0,), tmp_path).smi is None


def test_each_interrupt_is_one_entry(tmp_path: Path) -> None:
    """TLB shootdowns are function calls that are counted twice."""
    tables(tmp_path, 100, 7, 50)
    entries = read_entries((2, 0), tmp_path)
    assert entries.counts == {2: 100 + 7 + 2, 0: 9 + 5}
    assert entries.since_ns <= entries.until_ns
