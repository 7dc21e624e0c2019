from __future__ import annotations

from pathlib import Path

from noisetop.machine.proc_interrupts import (
    counts_by_cpu,
    parse_interrupts,
    read_entries,
    softirq_names,
)

TEXT = """\
           CPU0       CPU2
  8:         12          0  IO-APIC   8-edge      rtc0
NMI:          1 4294967295   Non-maskable interrupts
ERR:          3
MIS:          0
"""


def test_columns_are_the_online_cpus() -> None:
    assert parse_interrupts(TEXT) == {"8": {0: 12, 2: 0}, "NMI": {0: 1, 2: 4294967295}}


def test_nothing_comes_of_nothing() -> None:
    assert parse_interrupts("") == {}
    assert parse_interrupts("CPU0 CPU1\nNMI: 1\nLOC: 2 x\n" + "9" * 30 + "\n") == {}


def test_a_row_with_an_absurd_number_is_left_out() -> None:
    assert parse_interrupts(f"CPU0\nNMI: {'9' * 21}\nLOC: 4\n") == {"LOC": {0: 4}}


def test_a_device_interrupt_carries_its_action_and_others_their_description() -> None:
    assert counts_by_cpu(TEXT, (2, 7)) == {
        2: {"8 rtc0": 0, "NMI Non-maskable interrupts": 4294967295},
        7: {},
    }


def test_softirqs_are_numbered_in_the_order_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/softirqs").write_text("      CPU0 CPU1\n   HI:  0 1\nTIMER:  5 6\n")
    assert softirq_names(tmp_path) == ("HI", "TIMER")


def test_each_interrupt_is_one_entry(tmp_path: Path) -> None:
    """TLB shootdowns are function calls that are counted twice; NMIs are no such entry."""
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/interrupts").write_text(
        "    CPU0 CPU2\n36: 5 7 PCI-MSIX-0000:00:02.0 1-edge virtio1-req.0\nLOC: 9 100 Local\n"
        "CAL: 0 2 Calls\nTLB: 0 2 Shootdowns\nNMI: 0 9 Non-maskable\nERR: 0\n"
    )
    entries = read_entries((2, 0, 3), tmp_path)
    assert entries.counts == {2: 100 + 7 + 2, 0: 9 + 5, 3: 0}
    assert entries.since_ns <= entries.until_ns
