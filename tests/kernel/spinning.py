"""A thread that spins while something interrupts it, traced."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from noisetop.probe.sampler import Disturb, SpinProcess, clock_pair
from noisetop.tracing.target import Target
from noisetop.tracing.tracer import Tracer

CPU = max(os.sched_getaffinity(0))
HOUSE = tuple(sorted(os.sched_getaffinity(0) - {CPU}))
LONG_NS = 1_000


@contextmanager
def spinning(
    cpu: int,
    load: Disturb,
    length_ns: int,
    slice_ns: int = 0,
    send_ns: int = 150_000,
    timer_ns: int = 60_000,
) -> Iterator[tuple[SpinProcess, Tracer]]:
    """A thread on ``cpu`` that has spun under a load, and what traced CPU meanwhile."""
    with (
        SpinProcess(
            (cpu,),
            capacity=1 << 19,
            disturb=load,
            sender_cpu=HOUSE[0],
            send_ns=send_ns,
            timer_ns=timer_ns,
        ) as process,  # fmt: skip
        Tracer(Target((CPU,)), housekeeping=HOUSE, samples_cost=False) as tracer,
    ):
        tracer.start_window()
        begin, rate = clock_pair().after_ticks, ticks_per_ns()
        process.begin(
            begin,
            begin + round(length_ns * rate),
            round(LONG_NS * rate),
            busy_ticks=round(slice_ns * rate),
        )
        while not process.done():
            time.sleep(0.02)
        tracer.stop_window()
        yield process, tracer


def ticks_per_ns() -> float:
    """Of the counter that a spinning thread reads."""
    first = clock_pair()
    time.sleep(0.02)
    second = clock_pair()
    return (second.before_ticks - first.before_ticks) / (second.ns - first.ns)
