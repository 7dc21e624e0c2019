"""The second ones of programs that miss what hits while they run are there where that happens, and
nowhere else: on CPUs with timers of the softirq, which those of an interrupt can hit."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

from noisetop.counters.losses import LOSSES
from noisetop.events.interruption import Flag
from noisetop.machine import system
from noisetop.tracing.program_sets import COMPLETE, ProgramSet
from noisetop.tracing.target import Target
from noisetop.tracing.tracer import Tracer
from tests.kernel import books
from tests.kernel.loads import prepared
from tests.kernel.program import wait_for
from tests.kernel.tracepoint_counter import count, tracepoint_counter

pytestmark = pytest.mark.kernel

CPU, OTHER = max(system.online_cpus()), min(system.online_cpus())
TIMERS, STREAMS = "timerfd:4000:0", "paced-streams:1000:0"
ENOUGH = 4_000
FIRSTS = FIRST, _ = "hrtimer_entry_twin_1", "hrtimer_exit_twin_1"
SECONDS = SECOND, _ = "hrtimer_entry_twin_2", "hrtimer_exit_twin_2"
SOURCES = ("hrtimer", "timer_wheel")
"""What a precise timer is told as."""


class Moment(NamedTuple):
    """A reading of the kernel's count of timers that expired."""

    before_ns: int
    timers: int
    after_ns: int


@dataclass(slots=True)
class Traced:
    """A tracer beside loads, in its window."""

    tracer: Tracer
    expired: int
    """Descriptor of the kernel's own count."""

    def moment(self) -> Moment:
        """Now."""
        before_ns = time.monotonic_ns()
        return Moment(before_ns, count(self.expired), time.monotonic_ns())

    def wait_for_timers(self) -> None:
        """Waits until ENOUGH more expired."""
        wanted = count(self.expired) + ENOUGH
        wait_for(lambda: count(self.expired) >= wanted, "timers")

    def runs(self, program: str) -> int:
        """Of a program, so far."""
        return self.tracer.program_runs()[program][0]

    def misses(self) -> int:
        """Timers of which the kernel skipped the beginning or the end, so far."""
        programs = self.tracer._session.programs()
        return sum(one["recursion_misses"] for one in programs if one["name"] in FIRSTS)

    def unpaired(self) -> int:
        """What the tracer has seen without its beginning or its end, so far."""
        return self.tracer.window_counters().of(LOSSES).by_cpu[CPU]["unbalanced"]


@contextmanager
def traced(*loads: str, programs: ProgramSet = COMPLETE) -> Iterator[Traced]:
    """Beside loads that begin with the window."""
    with (
        prepared(CPU, OTHER, *loads) as load,
        tracepoint_counter("timer/hrtimer_expire_entry", "now != 0", CPU) as expired,
        Tracer(Target((CPU,)), samples_cost=False, programs=programs) as tracer,
        tracer.statistics(),
    ):
        tracer.start_window()
        load.begin()
        yield Traced(tracer, expired)


def softirq_timers() -> int:
    """Passes over the timers of the softirq on the CPU so far."""
    return books.softirqs()["HRTIMER", CPU]


def callbacks(tracer: Tracer) -> np.ndarray:
    """When those of precise timers began."""
    layout = tracer.layout
    records = np.frombuffer(tracer._session.read(), layout.event)
    numbers = [number for number, kind in layout.kinds.items() if kind.name in SOURCES]
    wanted = np.isin(records["source"], numbers) & (records["flags"] & layout.no_interval == 0)
    begun = records["flags"] & Flag.CONTINUED == 0
    starts: np.ndarray = records["start_ns"][wanted & begun]
    return starts


def test_they_are_not_there_without_a_need() -> None:
    before = softirq_timers()
    with traced(TIMERS) as here:
        here.wait_for_timers()
        assert here.runs(FIRST) >= ENOUGH
        assert not here.runs(SECOND) or softirq_timers() > before
        assert not here.unpaired()


def test_they_come_with_the_first_timer_of_the_softirq() -> None:
    """Each timer is told then, of the softirq and of the interrupts that hit it."""
    before = softirq_timers()
    with traced(TIMERS, STREAMS) as here:
        wait_for(lambda: here.runs(SECOND) > 0, "the second programs")
        first, unpaired = here.moment(), here.unpaired()
        here.wait_for_timers()
        last = here.moment()
        assert here.unpaired() == unpaired
        here.tracer.stop_window()
        starts = callbacks(here.tracer)
    assert softirq_timers() > before + ENOUGH / 100
    least = ((starts >= first.after_ns) & (starts < last.before_ns)).sum()
    most = ((starts >= first.before_ns) & (starts < last.after_ns)).sum()
    assert least <= last.timers - first.timers <= most


def test_what_is_missed_without_them_is_told() -> None:
    with traced(TIMERS, STREAMS, programs=ProgramSet(SECONDS)) as here:
        wait_for(lambda: here.misses() > 1, "timers that are missed")
        least, unpaired, most = here.misses(), here.unpaired(), here.misses()
        assert least <= unpaired <= most
