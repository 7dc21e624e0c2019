"""An interrupt and the last function that it runs are one record in a ring, and two intervals for
everybody else: those that two records tell, as there are where stacks are taken."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from noisetop.counters.losses import LOSSES
from noisetop.events.layout import Events
from noisetop.machine import system
from noisetop.tracing.target import Target
from noisetop.tracing.tracer import Tracer
from tests.kernel import books
from tests.kernel.loads import workload
from tests.kernel.program import wait_for

pytestmark = pytest.mark.kernel

CPU, OTHER = max(system.online_cpus()), min(system.online_cpus())
PER_SECOND = 4_000
ENOUGH = 1_000
CLOSE_NS = 20_000
"""Programs of the two tracers see an interrupt at times that differ by less."""
RARE = 0.02
"""A host stops the CPU between the two; what interrupts between them is in a softirq for one."""
LEVEL_BITS = 0xF
LOADS = [("membarrier", "CAL", "csd_function"), ("timerfd", "LOC", "hrtimer_expire")]
"""Kind of load, its row in /proc/interrupts, and the tracepoint of the functions."""
SAME = ("source", "parent_source", "level", "flags", "parent_id", "id", "tid", "victim_tid")


def interrupts_of(tracer: Tracer) -> Events:
    """The interrupts and their functions, in the order of their ends."""
    records = np.frombuffer(tracer._session.read(), tracer.layout.event)
    assert tracer.window_counters().of(LOSSES).total == 0
    inside = records["start_ns"] > tracer.start_ns + CLOSE_NS
    levels = [tracer.layout.levels[name] for name in ("IRQ", "IRQ_CALLBACK")]
    of_intervals = records["flags"] & tracer.layout.no_interval == 0
    found: Events = records[inside & of_intervals & np.isin(records["level"] & LEVEL_BITS, levels)]
    return found


def two_tables(kind: str, row: str, tracepoint: str) -> tuple[Events, Events, int]:
    """Those of a tracer, and of one that takes stacks, beside many interrupts; the level of the
    functions."""
    target = Target((CPU,))
    with (
        Tracer(target, samples_cost=False) as paired,
        Tracer(target, samples_cost=False, stacks=True) as apart,
        workload(kind, CPU, OTHER, PER_SECOND),
    ):
        if tracepoint in paired.unavailable():
            pytest.skip("this kernel does not report functions")
        apart.start_window()
        paired.start_window()
        before = books.interrupts()[row, CPU]
        wait_for(lambda: books.interrupts()[row, CPU] > before + 2 * ENOUGH, "interrupts")
        paired.stop_window()
        apart.stop_window()
        level = paired.layout.levels["IRQ_CALLBACK"]
        mine, theirs = interrupts_of(paired), interrupts_of(apart)
        edges = mine["start_ns"].min(), mine["start_ns"].max()
        shared = (theirs["start_ns"] >= edges[0]) & (theirs["start_ns"] <= edges[1])
        return mine, theirs[shared], level


def matched(one: Events, other: Events, level: int) -> tuple[Events, Events]:
    """Of one level, the rows of both that began at nearly the same time."""
    rows, others = (t[t["level"] & LEVEL_BITS == level] for t in (one, other))
    others = others[np.argsort(others["start_ns"])]
    starts, wanted = (t["start_ns"].astype(np.int64) for t in (others, rows))
    after = np.clip(np.searchsorted(starts, wanted), 1, len(others) - 1)
    at = after - (wanted - starts[after - 1] < starts[after] - wanted)
    close = abs(starts[at] - wanted) < CLOSE_NS
    return rows[close], others[at[close]]


def interrupt_of(table: Events, functions: npt.NDArray[np.bool_]) -> Events:
    """The interrupt around each function: the next one that ends."""
    interrupts = np.flatnonzero(~functions)
    found: Events = table[interrupts[np.searchsorted(interrupts, np.flatnonzero(functions))]]
    return found


@pytest.mark.parametrize(("kind", "row", "tracepoint"), LOADS, ids=[load[0] for load in LOADS])
def test_a_pair_is_the_two_intervals_that_two_records_are(
    kind: str, row: str, tracepoint: str
) -> None:
    paired, apart, callback = two_tables(kind, row, tracepoint)
    for level in sorted(set((paired["level"] & LEVEL_BITS).tolist())):
        mine, theirs = matched(paired, apart, level)
        few = RARE * len(apart)
        assert len(mine) >= np.count_nonzero(apart["level"] & LEVEL_BITS == level) - few > ENOUGH
        for name in (*SAME, *(["object"] if level == callback else [])):
            assert np.count_nonzero(mine[name] != theirs[name]) <= few, (level, name)
    interrupts = np.flatnonzero(paired["level"] & LEVEL_BITS != callback)
    paired = paired[: interrupts[-1] + 1]  # the window may end between a function and its interrupt
    functions = paired["level"] & LEVEL_BITS == callback
    inner, outer = paired[functions], interrupt_of(paired, functions)
    ends, outer_ends = (t["start_ns"] + t["gross_ns"] for t in (inner, outer))
    if kind == "membarrier":
        assert np.count_nonzero(ends == outer_ends) > ENOUGH
    assert (ends <= outer_ends).all()
    assert (inner["start_ns"] >= outer["start_ns"]).all()
    assert (inner["net_ns"] + outer["net_ns"] <= outer["gross_ns"]).all()
