"""The functions of a program that interrupts others, and of one that is interrupted."""

from __future__ import annotations

import contextlib
import ctypes
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from noisetop.tracing.user_stacks import LIBRARY
from tests.kernel.forked import run
from tests.kernel.own_cpu import OTHER, OWN
from tests.kernel.program import read, wait_for

pytestmark = [pytest.mark.kernel, pytest.mark.side_by_side]

VICTIM_CPU, SENDER_CPU = OWN, OTHER
WITHOUT_END = 1 << 30
SHARE = 0.99
SOURCE = Path(__file__).with_name("sender.c")


@pytest.fixture(autouse=True, scope="module")
def _libdw() -> None:
    try:
        ctypes.CDLL(LIBRARY)
    except OSError:
        pytest.skip("libdw is not installed")


def built(folder: Path) -> Path:
    program = folder / "sender"
    flags = ("-g", "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-pthread")
    subprocess.run(["cc", *flags, "-o", program, SOURCE], check=True)
    return program


def with_separate_debug_info(program: Path) -> Path:
    """The functions are in a file of its own, which the program names."""
    debug = program.parent / ".debug/sender.debug"
    debug.parent.mkdir()
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
    subprocess.run(["strip", program], check=True)
    subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", program], check=True)
    return debug


@contextlib.contextmanager
def running(program: Path) -> Iterator[int]:
    """Its PID. It outlives what looks at it: where a stack was is known only while it lives."""
    command = [str(one) for one in (program, VICTIM_CPU, SENDER_CPU, WITHOUT_END)]
    with subprocess.Popen(command) as process:
        tasks = Path(f"/proc/{process.pid}/task")
        try:
            wait_for(lambda: len([*tasks.iterdir()]) == 2, "the spinner")
            yield process.pid
        finally:
            process.kill()


def recorded(program: Path, name: str = "x.noisetop") -> dict[str, Any]:
    """What the report says of a second of the program, with its child as a victim."""
    file = program.parent / name
    where = ("-c", str(VICTIM_CPU), "-H", str(SENDER_CPU), "-d", "1s")
    with running(program) as pid:
        done = run("record", *where, "-p", str(pid), "--follow", "--stacks", "-q", "-o", file)
    assert done.returncode == 0, done.stderr
    reported: dict[str, Any] = json.loads(read("report", "--json", file).stdout)
    return reported


def sent(report: dict[str, Any]) -> list[dict[str, Any]]:
    """The stacks of who sent the barriers."""
    calls = [one for one in report["stacks"] if one["path"][-1] == "ipi_mb"]
    return [one for one in calls if one["trigger"].startswith("sender ")]


def functions(stack: list[str]) -> list[str]:
    """Without what is behind their names."""
    return [one.partition(" ")[0] for one in stack]


def assert_sender_named(report: dict[str, Any]) -> None:
    named = [one for one in sent(report) if one["user_stack"]]
    count = sum(one["count"] for one in named)
    assert count >= SHARE * sum(one["count"] for one in sent(report)) > 0
    for one in named:
        assert functions(one["user_stack"])[:3] == ["send_barriers", "ask_for_barriers", "main"]
        assert all("(sender.c:" in step for step in one["user_stack"][:3])
        assert any("membarrier" in step for step in one["stack"]), one


def test_the_functions_that_send_are_named(tmp_path: Path) -> None:
    assert_sender_named(recorded(built(tmp_path)))


def test_they_are_found_in_separate_debug_info(tmp_path: Path) -> None:
    program = built(tmp_path)
    debug = with_separate_debug_info(program)
    assert_sender_named(recorded(program))
    debug.unlink()
    without = [step for one in sent(recorded(program, "y.noisetop")) for step in one["user_stack"]]
    assert any(step.startswith("sender+0x") for step in without), without
    assert not any("barriers" in step for step in without)


def test_the_worst_moments_tell_where_the_victim_was(tmp_path: Path) -> None:
    place = {"spinner": "spin_here", "competitor": "compete_here"}
    report = recorded(built(tmp_path))
    told = [
        (one["victim"]["name"], functions(one["victim_stack"])[0])
        for one in report["worst"]
        if one["victim"]["name"] in place and one["victim_stack"]
    ]
    assert any(place[name] == function for name, function in told), told
    # One that has just begun is somewhere else yet, but never where the other one is.
    assert all(place[name] == function for name, function in told if function in place.values())
