"""The second ones of programs that miss what hits while they run are there where that happens, and
nowhere else: on CPUs with timers of the softirq, which those of an interrupt can hit."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from noisetop.counters.losses import LOSSES
from noisetop.events.interruption import Flag
from noisetop.machine import system
from noisetop.tracing.program_sets import COMPLETE, SECOND_TWINS, ProgramSet
from noisetop.tracing.target import Target
from noisetop.tracing.tracer import Tracer
from tests.kernel import books
from tests.kernel.kernel_trace import kernel_trace
from tests.kernel.loads import prepared
from tests.kernel.program import started, wait_for
from tests.kernel.tracepoint_counter import count, tracepoint_counter

pytestmark = pytest.mark.kernel

CPU, OTHER = max(system.online_cpus()), min(system.online_cpus())
TIMERS, STREAMS = "timerfd:4000:0", "paced-streams:1000:0"
ENOUGH = 4_000
FIRSTS = FIRST, _ = "hrtimer_entry_twin_1", "hrtimer_exit_twin_1"
SECOND = SECOND_TWINS[0]
EXPIRED = "timer/hrtimer_expire_entry"
EDGE_NS = 100_000
"""A timer is told at a time that differs by less from that at which the kernel counts it."""
SOURCES = ("hrtimer", "timer_wheel")
"""What a precise timer is told as."""


@dataclass(slots=True)
class Traced:
    """A tracer beside loads, in its window."""

    tracer: Tracer
    expired: int
    """Descriptor of the kernel's own count."""

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


@contextlib.contextmanager
def traced(*loads: str, programs: ProgramSet = COMPLETE) -> Iterator[Traced]:
    """Beside loads that begin with the window."""
    with (
        prepared(CPU, OTHER, *loads) as load,
        tracepoint_counter(EXPIRED, "now != 0", CPU) as expired,
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
    """Each timer is told then, of the softirq and of the interrupts that hit it, as the kernel's
    own trace has it: see books.tids_of_init() for those that may be hidden."""
    before, hidden = softirq_timers(), books.tids_of_init()
    with kernel_trace(EXPIRED) as theirs, traced(TIMERS, STREAMS) as here:
        wait_for(lambda: all(map(here.runs, SECOND_TWINS)), "the second programs")
        first_ns, unpaired = time.monotonic_ns(), here.unpaired()
        here.wait_for_timers()
        last_ns = time.monotonic_ns()
        assert here.unpaired() == unpaired
        here.tracer.stop_window()
        starts = callbacks(here.tracer)
    assert softirq_timers() > before + ENOUGH / 100
    expired = [
        one.tid for one in theirs.events if one.cpu == CPU and first_ns < one.time_ns < last_ns
    ]
    least = ((starts > first_ns + EDGE_NS) & (starts < last_ns - EDGE_NS)).sum()
    most = ((starts > first_ns - EDGE_NS) & (starts < last_ns + EDGE_NS)).sum()
    assert least <= len(expired)
    assert sum(tid not in hidden for tid in expired) <= most


def test_what_is_missed_without_them_is_told() -> None:
    with traced(TIMERS, STREAMS, programs=ProgramSet(SECOND_TWINS)) as here:
        wait_for(lambda: here.misses() > 1, "timers that are missed")
        least, unpaired, most = here.misses(), here.unpaired(), here.misses()
        assert least <= unpaired <= most


def links_of(pid: int) -> int:
    """How many programs a process has attached."""
    found = 0
    for path in Path(f"/proc/{pid}/fdinfo").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed since
            found += "link_type:" in path.read_text()
    return found


def test_they_come_once_the_capabilities_are_given_up(tmp_path: Path) -> None:
    arguments = ("record", "-c", str(CPU), "-d", "1m", "-o", str(tmp_path / "one.noisetop"))
    with (
        prepared(CPU, OTHER, STREAMS) as load,
        started(*arguments, until="recording CPU") as process,
    ):
        before = links_of(process.pid)
        load.begin()
        wait_for(lambda: links_of(process.pid) == before + len(SECOND_TWINS), "the second programs")
