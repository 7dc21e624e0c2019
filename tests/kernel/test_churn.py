"""Tasks that come and go in numbers leave nothing behind in the kernel's memory of them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from noisetop.counters.losses import LOSSES
from noisetop.machine import system
from noisetop.tracing.target import Target
from noisetop.tracing.tracer import Tracer
from tests.kernel.loads import stress
from tests.kernel.program import bpftool, held, wait_for

pytestmark = pytest.mark.kernel

FORKS = 5_000
SLACK = 300


def forks() -> int:
    """Tasks made since boot."""
    for line in Path("/proc/stat").read_text().splitlines():
        if line.startswith("processes "):
            return int(line.split()[1])
    raise AssertionError("/proc/stat does not count tasks")


def remembered() -> int:
    """Tasks in the maps of this process's tracer."""
    own = held(os.getpid(), "map")
    maps = [
        one["id"]
        for one in json.loads(bpftool("-j", "map", "list"))
        if one.get("name") in ("noise_owners", "noise_crowded") and one["id"] in own
    ]
    assert len(maps) == 2
    return sum(len(json.loads(bpftool("map", "dump", "id", str(one), "-j"))) for one in maps)


def threads() -> int:
    return sum(1 for _ in Path("/proc").glob("[0-9]*/task/[0-9]*"))


def test_what_has_ended_is_forgotten() -> None:
    with Tracer(Target(system.online_cpus()), samples_cost=False) as tracer:
        tracer.start_window()
        before = forks()
        with stress("--fork", "2"):
            wait_for(lambda: forks() - before > FORKS, "tasks that come and go")
        wait_for(lambda: remembered() <= threads() + SLACK, "the ended tasks to be forgotten")
        assert remembered() > 0
        assert (
            sum(counts["state"] for counts in tracer.window_counters().of(LOSSES).by_cpu.values())
            == 0
        )
