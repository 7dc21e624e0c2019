"""Whose a watched CPU is: the same live and recorded, and never accused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from noisetop.machine import system
from tests.kernel.forked import run
from tests.kernel.program import read
from tests.kernel.provoked import LARGE_WEIGHT, weigh
from tests.kernel.test_targets import merging

pytestmark = pytest.mark.kernel

CPU, KEEP = max(system.online_cpus()), min(system.online_cpus())
SPIN = "while True: pass"


@contextmanager
def spinning(cpu: int = CPU) -> Iterator[int]:
    """A program that is bound to a CPU and never sleeps; its PID."""
    command = ["taskset", "-c", str(cpu), sys.executable, "-c", f"print(flush=True)\n{SPIN}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout
        process.stdout.readline()
        try:
            yield process.pid
        finally:
            process.kill()


def told(*args: str) -> list[dict[str, Any]]:
    """What a command of noisetop prints as JSON, line by line."""
    return [json.loads(line) for line in run(*args).stdout.splitlines()]


def watched(path: Path, *more: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The CPU as it is told live at the end of a run, and by the recording of the same run."""
    where = ("-c", str(CPU), "-H", str(KEEP), *more)
    *_, live = told("top", "--json", *where, "-o", str(path), "--force", "0.3", "2")
    report = json.loads(read("report", "--json", path).stdout)
    return live["cpus"][str(CPU)], report["cpus"][str(CPU)]


def test_a_bound_program_is_the_victim_live_and_recorded(tmp_path: Path) -> None:
    path = tmp_path / "a.noisetop"
    with spinning() as pid:
        live, recorded = watched(path)
    assert live["victim"] == recorded["victim"]
    assert (recorded["victim"]["pid"], recorded["victim"]["found"]) == (pid, "bound")
    assert recorded["contention_ns"] == 0
    (diagnosis,) = [json.loads(read("diagnose", "--json", str(path)).stdout)]
    culprits = [one for finding in diagnosis["findings"] for one in finding["culprits"]]
    assert pid not in [one["pid"] for one in culprits if one["ran"]]


def test_two_programs_are_contention_until_one_is_said_to_be_the_victim(tmp_path: Path) -> None:
    path = tmp_path / "a.noisetop"
    with ExitStack() as stack:
        one, other = (stack.enter_context(spinning()) for _ in range(2))
        for pid in (one, other):  # programs of others run here as well
            weigh(pid, LARGE_WEIGHT)
        live, recorded = watched(path)
        said = watched(tmp_path / "b.noisetop", "--victim", str(one))[1]
    assert live["victim"] is recorded["victim"] is None
    assert recorded["contention_ns"] > 0.8 * recorded["noise_ns"] > 0
    assert recorded["external_ns"] <= recorded["noise_ns"] - recorded["contention_ns"]
    assert "contention" in read("report", str(path)).stdout.splitlines()[0]
    assert (said["victim"]["pid"], said["victim"]["found"]) == (one, "given")
    assert said["contention_ns"] == 0
    report = json.loads(read("report", "--json", "--victim", str(other), path).stdout)
    assert report["cpus"][str(CPU)]["victim"]["pid"] == other
    assert report["cpus"][str(CPU)]["noise_ns"] == recorded["noise_ns"]


@pytest.mark.parametrize("beside", [[], [CPU]], ids=["alone", "beside-a-program"])
def test_a_kernel_thread_that_spins_is_named_as_such(beside: list[int], tmp_path: Path) -> None:
    path = tmp_path / "a.noisetop"
    with ExitStack() as stack:
        for cpu in beside:
            stack.enter_context(spinning(cpu))
        tid = stack.enter_context(merging())
        before = os.sched_getaffinity(tid)
        os.sched_setaffinity(tid, {CPU})
        try:
            _, recorded = watched(path, "--victim", "ksmd")
        finally:
            os.sched_setaffinity(tid, before)
    assert (recorded["victim"]["tid"], recorded["victim"]["kernel"]) == (tid, True)
    assert f"kernel thread ksmd {tid} (--victim)" in read("report", str(path)).stdout
    own = [one for one in recorded["sources"] if one["path"] == ["thread", "ksmd"]]
    assert not [one for one in own if one["net_ns"] and not one["aside"]]
