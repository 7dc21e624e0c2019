"""The tick against the kernel's own trace: what became of attempts to stop it."""

from __future__ import annotations

import contextlib
import itertools
import time
from pathlib import Path

import pytest

from noisetop import system
from noisetop.spool import SpoolWriter, read_spool
from noisetop.tick import STOPPED, kept_by
from noisetop.tracer import Target, Tracer
from tests.kernel.run_program import program_of_this_process, run
from tests.kernel.tracepoint_counter import count, tracepoint_counter

pytestmark = pytest.mark.kernel

CPUS = system.online_cpus()
WATCHED, UNWATCHED = max(CPUS), min(CPUS)
IDLE_S = 1.5
REASONS = {
    "posix_timer": 1 << 0,
    "perf_events": 1 << 1,
    "scheduler": 1 << 2,
    "clock_unstable": 1 << 3,
    "rcu": 1 << 4,
    "rcu_expedited": 1 << 5,
    "other": 1 << 6,
}
"""By their bits in include/linux/tick.h; the last one is none that there is."""
IDLE = "idle"
COUNTED = {
    IDLE: ("power/cpu_idle", "state != 4294967295"),
    STOPPED: ("timer/tick_stop", "success == 1"),
} | {
    reason: ("timer/tick_stop", f"success == 0 && dependency == {bit}")
    for reason, bit in REASONS.items()
}


def test_counts_of_attempts_equal_the_kernels(tmp_path: Path) -> None:
    """Live and recorded, per CPU and dependency."""
    path = tmp_path / "idle.noisetop"
    with (
        contextlib.ExitStack() as stack,
        path.open("w+b") as file,
        Tracer(Target(CPUS), spool_fd=file.fileno()) as tracer,
    ):
        theirs = _Counters(stack)
        writer = SpoolWriter(file.fileno(), tracer.layout)
        writer.write_head({}, tracer.names, CPUS)
        before = theirs.read()
        tracer.open_books()
        opened = theirs.read()
        time.sleep(IDLE_S)
        closing = theirs.read()
        tracer.close_books()
        after = theirs.read()
        ours, missing = tracer.tick_stops(), tracer.missing()
        end = (tracer.end_ns, tracer.losses(), tracer.own_cost(), missing, "")
        writer.write_end(*end, tick_stops=ours)
    assert "tick_stop" not in missing
    told = [cpu for cpu in CPUS if after[cpu, IDLE]]
    assert told, "the kernel's counters tell of no idle task at all"
    for cpu, reason in itertools.product(told, (STOPPED, *REASONS)):
        key = cpu, reason
        least, most = closing[key] - opened[key], after[key] - before[key]
        assert least <= ours[cpu][reason] <= most, (key, least, most, ours)
    assert sum(ours[cpu][STOPPED] for cpu in told) > 0
    assert read_spool(path).tick_stops == ours
    assert [cpu.tick_stops for cpu in read_spool(path).summary().cpus] == [ours[c] for c in CPUS]


class _Counters:
    """The kernel's own, by CPU and what came of an attempt.

    Some guests' kernels hide the idle tasks of some CPUs from trace and counters, though not from
    BPF: there the counter of idle entries stands still.
    """

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self._counters = {
            (cpu, reason): stack.enter_context(tracepoint_counter(event, condition, cpu))
            for cpu in CPUS
            for reason, (event, condition) in COUNTED.items()
        }

    def read(self) -> dict[tuple[int, str], int]:
        return {key: count(counter) for key, counter in self._counters.items()}


def test_each_dependency_is_counted_where_it_kept_the_tick() -> None:
    """This machine's kernel may have no nohz_full: then it never says so by itself."""
    with Tracer(Target((WATCHED,))) as tracer:
        program = program_of_this_process("tick_stop")
        tracer.open_books()
        for times, bit in enumerate(REASONS.values(), 1):
            for _ in range(times):
                run(program, WATCHED, 0, bit)
        if UNWATCHED != WATCHED:
            run(program, UNWATCHED, 0, 1)
        tracer.close_books()
        stops = tracer.tick_stops()
    assert list(stops) == [WATCHED]
    expected = {reason: times for times, reason in enumerate(REASONS, 1)}
    assert dict(kept_by(stops[WATCHED])) == expected
