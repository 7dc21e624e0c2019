"""Nothing is lost at the promised rate, and what is lost is counted exactly."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from noisetop.counters.losses import LOSSES
from noisetop.events.interruption import Flag
from noisetop.events.layout import Events, Layout
from noisetop.events.trigger_join import Triggers
from noisetop.machine import system
from noisetop.recording.raw_file import SpoolWriter, read_spool
from noisetop.tables.rows import select
from noisetop.tracing.target import Target
from noisetop.tracing.tracer import Tracer
from tests.kernel.loads import stress, workload
from tests.recordings import FLAGS

pytestmark = pytest.mark.kernel

PROMISED_PER_SECOND = 200_000
SECONDS = 1
PATIENCE_S = 25
EDGE_NS = 20_000
TRIGGER_EDGES = 8
"""Triggers that may be on their way when the window starts and closed."""


def test_nothing_is_lost_at_the_promised_rate(tmp_path: Path) -> None:
    path = tmp_path / "fast.noisetop"
    cpus = system.online_cpus()[:2]
    with (
        stress("--yield", "8"),
        workload("membarrier", cpus[-1], cpus[0], 0),
        path.open("w+b", buffering=0) as file,
        Tracer(Target(cpus), spool_fd=file.fileno(), keep_batches=False) as tracer,
    ):
        writer = SpoolWriter(tracer.layout, tracer)
        writer.write_head({}, tracer.names, cpus)
        tracer.start_window()
        fastest = fastest_second(tracer)
        tracer.stop_window()
        spooled = tracer.event_count
        counters = tracer.window_counters()
        losses = counters.of(LOSSES)
        writer.write_end(tracer.end_ns, counters, "")
    assert records_in(path) == spooled
    assert fastest >= PROMISED_PER_SECOND, "the load was too small to prove anything"
    # While a program runs, an interrupt that would run it again does not: the kernel sees to that.
    assert losses.total == losses.recursion_misses <= spooled / 100_000, losses


def records_in(path: Path) -> int:
    """How many records a file has, of every kind."""
    counts: list[int] = []

    def counted(_: Layout, records: Events) -> Events:
        counts.append(len(records))
        return records[:0]

    for _ in read_spool(path, counted).chunks():
        pass
    return sum(counts)


def fastest_second(tracer: Tracer) -> int:
    """Records in the second with the most of them, once there was one with enough of them, and
    after SECONDS at the least."""
    counts = [tracer.event_count]
    while len(counts) <= SECONDS or (
        np.diff(counts).max() < PROMISED_PER_SECOND and len(counts) <= PATIENCE_S
    ):
        time.sleep(1)
        counts.append(tracer.event_count)
    return int(np.diff(counts).max())


def records_of(tracer: Tracer) -> tuple[Events, Triggers]:
    """What a tracer has recorded so far, as it came out of the rings: intervals, waits included,
    and triggers."""
    records = np.frombuffer(tracer._session.read(), tracer.layout.event)
    intervals: Events = records[records["flags"] & (FLAGS["NAME"] | FLAGS["TRIGGER"]) == 0]
    triggers = select(records, records["flags"] & FLAGS["TRIGGER"] != 0)
    return intervals, triggers.view(tracer.layout.trigger)


def test_what_does_not_fit_is_counted_exactly() -> None:
    """A tracer with tiny rings beside one with large ones, over one interval of time."""
    cpus = system.online_cpus()[-1:]
    target = Target(cpus)
    with (
        # Attached before the load, so that both know who waits for the CPU: nobody.
        Tracer(target, ring_records=1 << 17, samples_cost=False) as large,
        Tracer(target, ring_records=16, samples_cost=False) as tiny,
        stress("--timer", "1", "--timer-freq", "2000", "--taskset", str(cpus[0])),
        workload("membarrier", cpus[0], system.online_cpus()[0], 5000),
    ):
        large.start_window()
        tiny.start_window()
        time.sleep(1)
        tiny.stop_window()
        lost = tiny.window_counters().of(LOSSES)
        large.stop_window()
        everything, all_triggers = records_of(large)
        kept, kept_triggers = records_of(tiny)
        # Waits from before, and what is still open at the end, have a record of their own.
        kept = kept[(kept["start_ns"] >= tiny.start_ns) & (kept["flags"] & Flag.CONTINUED == 0)]
        everything = everything[everything["flags"] & Flag.CONTINUED == 0]
        assert large.window_counters().of(LOSSES).total == 0
    ends = everything["start_ns"] + everything["gross_ns"]
    inside = (everything["start_ns"] >= tiny.start_ns) & (ends <= tiny.end_ns)
    # The counts at the two edges are read within 20 µs of the moments that count,
    # and what is in flight at one of them may end on either side for the two.
    edges = 8 + int(np.sum((everything["start_ns"] < tiny.start_ns) & (ends >= tiny.start_ns)))
    edges += int(np.sum((ends > tiny.end_ns) & (ends <= tiny.end_ns + EDGE_NS)))
    edges += int(np.sum((ends >= tiny.start_ns) & (ends <= tiny.start_ns + EDGE_NS)))
    assert lost.by_cpu[cpus[0]]["ring_full"] > 1000, "the rings were large enough after all"
    expected = int(inside.sum())
    found = len(kept) + lost.events_lost_on(cpus[0])
    assert expected - edges <= found <= expected + edges
    counts = lost.by_cpu.values()
    dropped = sum(reasons["trigger"] for reasons in counts)
    assert lost.total == sum(map(lost.events_lost_on, lost.by_cpu)) + dropped
    assert dropped > 1000
    expected = len(within(all_triggers, tiny))
    found = len(within(kept_triggers, tiny)) + dropped
    assert expected - TRIGGER_EDGES <= found <= expected + TRIGGER_EDGES


def within(triggers: Triggers, tracer: Tracer) -> Triggers:
    """Those of the time for which a tracer's books were open."""
    times = triggers["time_ns"]
    return triggers[(times >= tracer.start_ns) & (times <= tracer.end_ns)]
