"""The tick against the kernel's own books: attempts to stop it, and what its timer is used for."""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import struct
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from noisetop.counters.tick_stops import STOPPED, TICK_STOPS, kept_by
from noisetop.counters.unavailable import UNAVAILABLE
from noisetop.events.interruption import Interruptions, Source
from noisetop.machine import system
from noisetop.recording.raw_file import SpoolWriter, read_spool
from noisetop.summary.recorded import summary_of
from noisetop.tracing.target import Target
from noisetop.tracing.tracer import Tracer
from tests.kernel import books
from tests.kernel.kernel_trace import Traced, kernel_trace
from tests.kernel.run_program import program_of_this_process, run
from tests.kernel.tracepoint_counter import count, tracepoint_counter

pytestmark = pytest.mark.kernel

CPUS = system.online_cpus()
WATCHED, UNWATCHED = max(CPUS), min(CPUS)
IDLE_S = 0.5
OFTEN_IDLE = 0.5
"""Share of the time in which a CPU stops its tick again and again."""
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
EDGE_NS = 200_000
"""Less than what lies between two ticks, and more than tracing one takes."""
PATIENCE_S, ENOUGH = 20, 5
TICK, WHEEL = "tick_nohz_handler", "timer_wheel"
CONTEXTS = {TICK: "tick", WHEEL: "timer wheel"}
IDLE = "idle"
Counts = dict[tuple[int, str], int]
COUNTED = {
    IDLE: ("power/cpu_idle", "state != 4294967295"),
    STOPPED: ("timer/tick_stop", "success == 1"),
} | {
    reason: ("timer/tick_stop", f"success == 0 && dependency == {bit}")
    for reason, bit in REASONS.items()
}


def test_counts_of_attempts_equal_the_kernels(tmp_path: Path) -> None:
    """Live and recorded, per CPU and dependency. On a machine where no CPU is idle for long no
    tick is stopped, and none is told."""
    path = tmp_path / "idle.noisetop"
    with (
        contextlib.ExitStack() as stack,
        path.open("w+b") as file,
        Tracer(Target(CPUS), spool_fd=file.fileno(), samples_cost=False) as tracer,
    ):
        theirs = _Counters(stack)
        writer = SpoolWriter(tracer.layout, tracer)
        writer.write_head({}, tracer.names, CPUS)
        before = theirs.read()
        tracer.start_window()
        began, idle_s, opened = time.monotonic(), _idle_s(), theirs.read()
        time.sleep(IDLE_S)
        end = time.monotonic() + PATIENCE_S
        while not _has_stopped(opened, theirs.read()) and time.monotonic() < end:
            time.sleep(IDLE_S / 10)
        closing = theirs.read()
        share = max(now - then for now, then in zip(_idle_s(), idle_s, strict=True))
        share /= time.monotonic() - began
        tracer.stop_window()
        after = theirs.read()
        counters = tracer.window_counters()
        writer.write_end(tracer.end_ns, counters, "")
    ours = counters.of(TICK_STOPS)
    assert "tick_stop" not in counters.of(UNAVAILABLE)
    told = [cpu for cpu in CPUS if after[cpu, IDLE]]
    assert _has_stopped(opened, closing) or share < OFTEN_IDLE, "an idle CPU's tick goes on"
    for cpu, reason in itertools.product(told, (STOPPED, *REASONS)):
        key = cpu, reason
        least, most = closing[key] - opened[key], after[key] - before[key]
        assert least <= ours[cpu][reason] <= most, (key, least, most, ours)
    assert read_spool(path).counters.of(TICK_STOPS) == ours
    assert summary_of(read_spool(path)).counters.of(TICK_STOPS) == ours


def _idle_s() -> list[float]:
    """How long each CPU was idle, by /proc/stat."""
    lines = system.read_text(Path("/proc/stat")).splitlines()
    each = [line.split() for line in lines if line[:3] == "cpu" and line[3:4].isdigit()]
    return [int(fields[4]) / os.sysconf("SC_CLK_TCK") for fields in each]


def _has_stopped(before: Counts, after: Counts) -> bool:
    """Whether a CPU of which the kernel's counters tell that it idles has stopped its tick."""
    return any(after[cpu, IDLE] and after[cpu, STOPPED] > before[cpu, STOPPED] for cpu in CPUS)


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

    def read(self) -> Counts:
        return {key: count(counter) for key, counter in self._counters.items()}


def test_each_dependency_is_counted_where_it_kept_the_tick() -> None:
    """This machine's kernel may have no nohz_full: then it never says so by itself."""
    with Tracer(Target((WATCHED,)), samples_cost=False) as tracer:
        program = program_of_this_process("tick_stop")
        tracer.start_window()
        for times, bit in enumerate(REASONS.values(), 1):
            for _ in range(times):
                run(program, WATCHED, 0, bit)
        if UNWATCHED != WATCHED:
            run(program, UNWATCHED, 0, 1)
        tracer.stop_window()
        stops = tracer.window_counters().of(TICK_STOPS)
    assert list(stops) == [WATCHED]
    expected = {reason: times for times, reason in enumerate(REASONS, 1)}
    assert dict(kept_by(stops[WATCHED])) == expected


def test_the_ticks_timer_is_a_tick_only_while_the_tick_runs() -> None:
    """The kernel's trace tells by what follows: a running tick starts its timer again before the
    interrupt ends, a stopped one does not. On a machine where no CPU is idle none stops: then that
    is what is told."""
    tables: list[Interruptions] = []
    with (
        kernel_trace(
            "timer/hrtimer_expire_entry", "timer/hrtimer_start", "irq_vectors/local_timer_exit"
        ) as theirs,
        Tracer(Target(CPUS), samples_cost=False) as tracer,
    ):
        sources, triggers = tracer.reader.namer.sources, tracer.reader.join.triggers
        end = time.monotonic() + PATIENCE_S
        tracer.start_window()
        while sum(len(rows(one, sources, WHEEL)) for one in tables) < len(CPUS) * ENOUGH:
            if time.monotonic() > end:
                break
            tables.append(wheel_timers_expire(tracer))
        tracer.stop_window()
        tables.append(tracer.read())
    hidden = books.tids_of_init()
    table, found, told = np.concatenate(tables), Counter[str](), Counter[str]()
    for cpu in CPUS:
        expected = callbacks([event for event in theirs.events if event.cpu == cpu])
        first, last = (edge(tracer, moments) for moments in (expected, reversed(expected)))
        for name in (WHEEL, TICK):
            mine = rows(table[table["cpu"] == cpu], sources, name)
            mine = mine[(mine["start_ns"] > first) & (mine["start_ns"] < last)]
            tids = [tid for at, kind, tid in expected if kind == name and first < at < last]
            shown = sum(tid not in hidden for tid in tids)
            assert shown <= len(mine) <= len(tids), (cpu, name)
            found[name] += len(mine)
            told[name] += len(tids)
            assert {triggers[n].context for n in mine["trigger"]} <= {CONTEXTS[name]}
    assert found[WHEEL] >= min(ENOUGH, told[WHEEL])
    assert found[TICK] >= ENOUGH


def wheel_timers_expire(tracer: Tracer) -> Interruptions:
    """What was traced while each CPU waited for timers of the wheel, as idle as others left it."""
    for cpu in CPUS:
        os.sched_setaffinity(0, {cpu})
        ours, _theirs = socket.socketpair(type=socket.SOCK_DGRAM)
        with ours, _theirs:
            # The kernel's own timeout of a socket, not poll(2)'s: that is a precise timer.
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 30_000))
            for _ in range(5):
                with contextlib.suppress(BlockingIOError):
                    ours.recv(1)
    os.sched_setaffinity(0, CPUS)
    return tracer.read()


def rows(table: Interruptions, sources: list[Source], name: str) -> Interruptions:
    """Interruptions by the tick's timer, as a tick or for the wheel."""
    numbers = [n for n, one in enumerate(sources) if one.path[0] == "timer" and name in one.path]
    chosen: Interruptions = table[np.isin(table["source"], numbers)]
    return chosen


def callbacks(events: list[Traced]) -> list[tuple[int, str, int]]:
    """When the function of the tick's timer was called on a CPU, what for, and who was current."""
    found = []
    for at, event in enumerate(events):
        if event.name != "hrtimer_expire_entry" or event.value("function") != TICK:
            continue
        inside = itertools.takewhile(lambda e: e.name != "local_timer_exit", events[at + 1 :])
        timer = event.value("hrtimer")
        starts = (e.value("hrtimer") for e in inside if e.name == "hrtimer_start")
        again = timer in starts
        found.append((event.time_ns, TICK if again else WHEEL, event.tid))
    return found


def edge(tracer: Tracer, moments: Iterable[tuple[int, str, int]]) -> int:
    """A moment between two callbacks, well inside the books: the first of these, a bit later."""
    inside = (at for at, *_ in moments if tracer.start_ns + EDGE_NS < at < tracer.end_ns - EDGE_NS)
    return next(inside) + EDGE_NS
