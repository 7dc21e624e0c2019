"""Net time and entry costs together are what a spinning thread loses (identity 9)."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack

import numpy as np
import pytest

from noisetop.counters.calibration import Calibration, entry_kind
from noisetop.events.interruption import SIDE_LEVEL, Flag, Interruptions, Source
from noisetop.probe.calibrate import CalibrationSettings, measure
from noisetop.probe.clock import fit_clock
from noisetop.probe.entry_costs import entry_costs
from noisetop.probe.sampler import Disturb, SpinProcess, clock_pair
from noisetop.tracing.stopper import Stopper
from noisetop.tracing.target import Target
from noisetop.tracing.tracer import Tracer

pytestmark = pytest.mark.kernel

CPU = max(os.sched_getaffinity(0))
HOUSE = tuple(sorted(os.sched_getaffinity(0) - {CPU}))
SECOND_NS = 1_000_000_000
ROUNDS = 5
"""Of which one lies in the middle: a machine whose speed changes in between is off in one or two."""
LEAST, MOST = 0.85, 1.15
LOADS = {
    "calls": Disturb.CALL,
    "timers": Disturb.TIMER,
    "threads": Disturb.SLEEP | Disturb.WAKE,
    "all": Disturb.CALL | Disturb.TIMER | Disturb.SLEEP | Disturb.WAKE | Disturb.TIMEOUT,
}


def calibrated() -> Calibration:
    entries = entry_costs(measure(CalibrationSettings(CPU, SECOND_NS // 2, HOUSE), Stopper()))
    return Calibration({kind: entry.cost for kind, entry in entries.items()})


def lost_and_told(load: Disturb, calibration: Calibration) -> tuple[int, int, int]:
    """What the gaps above 1 µs take that hold events, the net time, and the entry costs."""
    with ExitStack() as stack:
        process = stack.enter_context(
            SpinProcess((CPU,), capacity=1 << 17, disturb=load, sender_cpu=HOUSE[0])
        )
        target = Target((CPU,), pid=process.pid)
        tracer = stack.enter_context(Tracer(target, housekeeping=HOUSE, samples_cost=False))
        tracer.start_window()
        pairs = [clock_pair()]
        time.sleep(0.02)
        pairs.append(clock_pair())
        rate = (pairs[1].before_ticks - pairs[0].before_ticks) / (pairs[1].ns - pairs[0].ns)
        begin = pairs[1].after_ticks
        slice_ticks = round(250_000 * rate) if load & Disturb.TIMER else 0
        process.begin(
            begin, begin + round(SECOND_NS * rate), round(200 * rate), busy_ticks=slice_ticks
        )
        while not process.done():
            time.sleep(0.02)
        pairs.append(clock_pair())
        tracer.stop_window()
        table = tracer.read()
        [spin] = process.results()
        clock = fit_clock([*pairs, spin.began, spin.ended])
        waits = tracer.reader.waits.by_task()
        sources = tracer.reader.namer.sources
        start, end = clock.to_ns(spin.starts), clock.to_ns(spin.ends)
        first, last = clock.to_ns(np.array([spin.first_ticks, spin.last_ticks]))
    mine = table[
        (table["victim_tid"] == spin.tid)
        & (table["level"] != SIDE_LEVEL)
        & (table["start_ns"] >= first)
        & (table["start_ns"] <= last)
    ]
    long = end - start > 1_000
    held = np.zeros(len(start), bool)
    place = np.searchsorted(start, mine["start_ns"].astype(np.int64), "right") - 1
    inside = (place >= 0) & (mine["start_ns"].astype(np.int64) < end[place])
    held[place[inside]] = True
    counts = counted(mine, sources)
    preempted = waits[spin.tid].count.get("preempted", 0) if spin.tid in waits else 0
    print("   outside", int((end - start)[long & ~held].sum())//1000, "us; not in gaps", int((~inside).sum()), "of", len(mine), counts, preempted)
    counts["switch"] = preempted
    entry = sum(
        count * cost.entry_ns for kind, count in counts.items() if (cost := calibration.entry(kind))
    )
    return int((end - start)[long & held].sum()), int(mine["net_ns"].sum()), entry


def counted(table: Interruptions, sources: list[Source]) -> dict[str, int]:
    """Outermost events by kind of entry."""
    counts: dict[str, int] = {}
    outermost = table["source"][table["flags"] & Flag.OUTERMOST != 0]
    for number, count in zip(*np.unique(outermost, return_counts=True), strict=True):
        kind = entry_kind(sources[int(number)])
        counts[kind] = counts.get(kind, 0) + int(count)
    return counts


@pytest.mark.parametrize("load", LOADS.values(), ids=LOADS.keys())
def test_cost_is_what_a_spinning_thread_loses(load: Disturb) -> None:
    ratios = []
    for _ in range(ROUNDS):
        lost, net, entry = lost_and_told(load, calibrated())
        ratios.append((net + entry) / lost)
        print(f"of {lost} ns: net {net / lost:.2f}, with entries {ratios[-1]:.2f}")
    assert LEAST <= sorted(ratios)[ROUNDS // 2] <= MOST, ratios
