"""The state of a CPU, which every program asks for first: found by its address, not looked up."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from noisetop.machine import system
from noisetop.tracing.target import Target
from noisetop.tracing.tracer import Tracer
from tests.kernel.program import bpftool, held, own_code

pytestmark = pytest.mark.kernel

LOOK_UP = re.compile(r"= map\[id:\d+\]$", re.MULTILINE)
ADDRESS = re.compile(r"= map\[id:\d+\]\[0\]\+0$", re.MULTILINE)


@pytest.mark.parametrize(("program", "look_ups"), [("softirq_entry", 0), ("softirq_exit", 1)])
def test_only_the_place_of_a_record_is_looked_up(program: str, look_ups: int) -> None:
    with Tracer(Target(system.online_cpus()), samples_cost=False):
        code = own_code(os.getpid(), program)
    assert len(LOOK_UP.findall(code)) == look_ups
    assert ADDRESS.search(code)


def placeholders() -> list[int]:
    """What stands for numbers that the loader alone knows."""
    text = (Path(__file__).parents[2] / "bpf" / "placeholders.h").read_text()
    return [int(number, 16) for number in re.findall(r"#define \w+_NUMBER (0x\w+)", text)]


def test_no_placeholder_of_a_number_is_left() -> None:
    """Functions out of line, which the loader does not reach, have none."""
    assert len(placeholders()) == 8
    with Tracer(Target(system.online_cpus()), samples_cost=False):
        code = "".join(bpftool("prog", "dump", "xlated", "id", str(n)) for n in held(os.getpid()))
    assert "int softirq_exit(" in code
    assert not [number for number in placeholders() if f" {number}" in code]
