"""Tasks whose tids end alike want the same place: each has a state of its own all the same."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from noisetop.machine import system
from noisetop.tracing.target import Target
from noisetop.tracing.tracer import Tracer
from tests.kernel.loads import Workload
from tests.kernel.program import bpftool, held, wait_for
from tests.kernel.provoked import favoured, written
from tests.kernel.test_waits import assert_equal_to_the_kernels, delays
from tests.kernel.tracing import trace

pytestmark = pytest.mark.kernel

CPUS = system.online_cpus()
CPU = max(CPUS)
PLACES = 65536
"""NOISE_TASK_PLACES in bpf/noise.h."""
MOST_TIDS = 4 * 1024 * 1024
ACT = "compete:0:600"


@contextlib.contextmanager
def sharing_places() -> Iterator[tuple[Workload, Workload]]:
    """Two loads at rest; each thread of the second has the place of one of the first."""
    last = Path("/proc/sys/kernel/ns_last_pid")
    with written("/proc/sys/kernel/pid_max", str(MOST_TIDS)), favoured(CPU, CPU, ACT) as first:

        def started(stack: contextlib.ExitStack) -> Workload:
            last.write_text(str(first.pid + PLACES - 1))
            return stack.enter_context(favoured(CPU, CPU, ACT))

        with contextlib.ExitStack() as stack:
            second = started(stack)
            while second.pid != first.pid + PLACES:  # another process was first
                stack.close()
                second = started(stack)
            taken, wanted = ({tid % PLACES for tid in delays(load)} for load in (first, second))
            assert len(taken & wanted) > 1
            yield first, second


def crowded() -> int:
    """Tasks of this process's tracer that found their place taken."""
    (found,) = [
        one["id"]
        for one in json.loads(bpftool("-j", "map", "list"))
        if one.get("name") == "noise_crowded" and one["id"] in held(os.getpid(), "map")
    ]
    return len(json.loads(bpftool("map", "dump", "id", str(found), "-j")))


def test_their_waits_equal_the_kernels() -> None:
    with sharing_places() as (first, second):

        def both() -> None:
            first.begin()
            second.begin()
            for load in (first, second):
                load.finish()
            assert crowded() > 0

        before = delays(first), delays(second)
        traced = trace(Target((CPU,)), both)
        assert not any(counts["state"] for counts in traced.losses.by_cpu.values())
        for load, delay in zip((first, second), before, strict=True):
            assert_equal_to_the_kernels(traced, delay, load)


def test_what_has_ended_is_forgotten() -> None:
    with Tracer(Target((CPU,)), samples_cost=False) as tracer:
        tracer.start_window()
        with sharing_places() as (first, second):
            first.begin()
            second.begin()
            for load in (first, second):
                load.finish()
            assert crowded() > 0
        wait_for(lambda: crowded() == 0, "the ended tasks to be forgotten")
