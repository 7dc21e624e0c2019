from __future__ import annotations

from noisetop.interrupts import parse_interrupts

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
