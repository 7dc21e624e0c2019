"""An interrupt and the function that ends with it are one record in a ring, and two intervals for
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


def two_tables() -> tuple[Events, Events, int]:
    """Those of a tracer, and of one that takes stacks, beside many function calls; the level of the
    functions."""
    target = Target((CPU,))
    with (
        Tracer(target, samples_cost=False) as paired,
        Tracer(target, samples_cost=False, stacks=True) as apart,
        workload("membarrier", CPU, OTHER, PER_SECOND),
    ):
        if "csd_function" in paired.unavailable():
            pytest.skip("this kernel does not report functions")
        apart.start_window()
        paired.start_window()
        sent = books.interrupts()["CAL", CPU]
        wait_for(lambda: books.interrupts()["CAL", CPU] > sent + 2 * ENOUGH, "function calls")
        paired.stop_window()
        apart.stop_window()
        level = paired.layout.levels["IRQ_CALLBACK"]
        return interrupts_of(paired), interrupts_of(apart), level


def matched(one: Events, other: Events, level: int) -> tuple[Events, Events]:
    """Of one level, the rows of both that began at nearly the same time."""
    rows, others = (t[t["level"] & LEVEL_BITS == level] for t in (one, other))
    others = others[np.argsort(others["start_ns"])]
    at = np.searchsorted(others["start_ns"], rows["start_ns"] - np.uint64(CLOSE_NS))
    at = np.minimum(at, len(others) - 1)
    apart_ns = others["start_ns"][at].astype(np.int64) - rows["start_ns"].astype(np.int64)
    close = abs(apart_ns) < CLOSE_NS
    return rows[close], others[at[close]]


def interrupt_of(table: Events, functions: npt.NDArray[np.bool_]) -> Events:
    """The interrupt around each function: the next one that ends."""
    interrupts = np.flatnonzero(~functions)
    found: Events = table[interrupts[np.searchsorted(interrupts, np.flatnonzero(functions))]]
    return found


def test_a_pair_is_the_two_intervals_that_two_records_are() -> None:
    paired, apart, callback = two_tables()
    for level in sorted(set((paired["level"] & LEVEL_BITS).tolist())):
        mine, theirs = matched(paired, apart, level)
        few = RARE * len(apart)
        assert len(mine) >= np.count_nonzero(apart["level"] & LEVEL_BITS == level) - few > ENOUGH
        for name in (*SAME, *(["object"] if level == callback else [])):
            assert np.count_nonzero(mine[name] != theirs[name]) <= few, (level, name)
    functions = paired["level"] & LEVEL_BITS == callback
    inner, outer = paired[functions], interrupt_of(paired, functions)
    ends = inner["start_ns"] + inner["gross_ns"]
    assert np.count_nonzero(ends == outer["start_ns"] + outer["gross_ns"]) > ENOUGH
    assert (inner["start_ns"] >= outer["start_ns"]).all()
    assert (inner["net_ns"] + outer["net_ns"] <= outer["gross_ns"]).all()
