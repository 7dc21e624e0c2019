"""An isolated core: quiet when nothing reaches it, and what does is named. Runs inside a guest."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from noisetop.events.interruption import Flag, Interruptions
from noisetop.machine import system
from noisetop.tracing.target import Target
from tests.guests.catalogue import KERNELS
from tests.guests.inside.causes import (
    file_reader,
    flipping_key,
    frequency_event,
    interrupt_of_files,
    setting,
)
from tests.kernel import books
from tests.kernel.loads import prepared
from tests.kernel.tracing import Traced, trace

pytestmark = pytest.mark.kernel

KERNEL = next(kernel for kernel in KERNELS if kernel.name == os.environ["NOISETOP_KERNEL"])
CPU = max(system.isolated_cpus())
HOUSE = min(system.online_cpus())
ROWS = {
    "LOC": ("local_timer",),
    "RES": ("reschedule",),
    "IWI": ("irq_work",),
    "CAL": ("call_function", "call_function_single"),
}
QUIET = "spin:10:40"
"""Ten times a second for four seconds a thread elsewhere does nothing; the victim spins."""


def ending(traced: Traced, *names: str) -> Interruptions:
    """Interruptions whose last step is one of the names."""
    wanted = [i for i, source in enumerate(traced.sources) if source.path[-1] in names]
    rows: Interruptions = traced.table[np.isin(traced.table["source"], wanted)]
    return rows


def between(rows: Interruptions, start_ns: int, end_ns: int) -> int:
    return int(((rows["start_ns"] >= start_ns) & (rows["start_ns"] < end_ns)).sum())


@dataclass
class Spell:
    """A load on an isolated core, with the kernel's books around it and when they were read."""

    traced: Traced
    before: books.Books
    after: books.Books
    times_ns: list[int]
    """Around the first reading and around the second."""

    @property
    def paths(self) -> list[str]:
        """What was seen, for the message of a failure."""
        seen = np.unique(self.traced.table["source"]).tolist()
        return sorted(" › ".join(self.traced.sources[i].path) for i in seen)

    def kernel(self, row: str, cpu: int = CPU) -> int:
        """How often the kernel counted this between the readings."""
        return self.after[row, cpu] - self.before[row, cpu]


def watch(*acts: str) -> Spell:
    """What befalls a thread that spins on the isolated core while others act elsewhere."""
    readings: list[books.Books] = []
    times_ns: list[int] = []

    def read() -> None:
        times_ns.append(time.monotonic_ns())
        readings.append(books.interrupts())
        times_ns.append(time.monotonic_ns())

    with prepared(CPU, HOUSE, *acts) as load:
        traced = trace(Target((CPU,)), read, load.run, read)
    before, after = readings
    return Spell(traced, before, after, times_ns)


@pytest.fixture(scope="module")
def quiet() -> Spell:
    return watch(QUIET)


@pytest.mark.parametrize("row", ROWS)
def test_a_quiet_core_is_as_quiet_as_the_kernel_says(quiet: Spell, row: str) -> None:
    rows = ending(quiet.traced, *ROWS[row])
    first, second, third, fourth = quiet.times_ns
    least, most = between(rows, second, third), between(rows, first, fourth)
    assert least <= quiet.kernel(row) <= most
    assert quiet.traced.losses.total == 0


def test_the_tick_stops_on_a_quiet_core(quiet: Spell) -> None:
    if KERNEL.stops_ticks:
        assert quiet.kernel("LOC") < quiet.kernel("LOC", HOUSE) / 4
    else:
        assert ticks_per_second(quiet) > 50


# One cause at a time. Kernels tell of function calls and of senders since 6.4 and 6.5.

TELLS_CALLS = "csd_function" not in KERNEL.lacks
TICKS = ("tick_nohz_handler", "tick_sched_timer")
"""The tick's own callback, since 6.10 and before."""


def assert_calls(spell: Spell, function: str, kind: str, count: int) -> None:
    """Function calls for the core, with the function and the sender where the kernel tells them."""
    assert spell.kernel("CAL") >= count
    assert len(ending(spell.traced, *ROWS["CAL"])) >= spell.kernel("CAL")
    if TELLS_CALLS:
        rows = ending(spell.traced, function)
        assert len(rows) >= count, spell.paths
        assert kind in {trigger.task for trigger in spell.traced.causes(rows)}


@pytest.mark.parametrize(
    ("kind", "function"),
    [("membarrier", "ipi_mb"), ("munmap", "flush_tlb_func")],
)
def test_calls_from_a_housekeeping_core(kind: str, function: str) -> None:
    assert_calls(watch(f"{kind}:100:100"), function, kind, 95)


def test_a_static_key_that_flips() -> None:
    with flipping_key(HOUSE) as tid:
        spell = watch(QUIET)
    assert spell.kernel("CAL") >= 20
    if TELLS_CALLS:
        rows = ending(spell.traced, "do_sync_core")
        assert len(rows) >= 20, spell.paths
        assert tid in {trigger.tid for trigger in spell.traced.causes(rows)}


def test_an_interrupt_that_is_sent_there() -> None:
    number = interrupt_of_files()
    affinity = f"/proc/irq/{number}/smp_affinity_list"
    with setting(affinity, str(CPU)), file_reader():
        spell = watch(QUIET)
    mine = [
        i
        for i, source in enumerate(spell.traced.sources)
        if source.path[0] == "irq" and source.path[1].split()[0] == str(number)
    ]
    rows = spell.traced.table[np.isin(spell.traced.table["source"], mine)]
    first, second, third, fourth = spell.times_ns
    assert spell.kernel(str(number)) >= 50
    assert between(rows, second, third) <= spell.kernel(str(number))
    assert spell.kernel(str(number)) <= between(rows, first, fourth), spell.paths


def test_a_second_task() -> None:
    """It takes turns with the victim, and the tick that gives them their turns is back."""
    spell = watch("compete:0:3000")
    assert len(spell.traced.rows("thread", "compete")) >= 5, spell.paths
    assert len(ending(spell.traced, *TICKS)) >= 20, spell.paths


def ticks_per_second(spell: Spell) -> float:
    _, second, third, _ = spell.times_ns
    return between(ending(spell.traced, *TICKS), second, third) / (third - second) * 1e9


if KERNEL.stops_ticks:

    def test_a_timer_of_cpu_time_keeps_the_tick(quiet: Spell) -> None:
        spell = watch("cpu-timer:10:20")
        assert ticks_per_second(spell) > 50 > 4 * ticks_per_second(quiet), spell.paths

    def test_a_perf_event_with_a_frequency_keeps_the_tick(quiet: Spell) -> None:
        with frequency_event(HOUSE):
            spell = watch("spin:10:20")
        assert ticks_per_second(spell) > 50 > 4 * ticks_per_second(quiet), spell.paths


def test_a_work_item_bound_to_the_core() -> None:
    count = 20
    spell = watch(f"stat-refresh:20:{count}")
    rows = spell.traced.rows("thread", "…", "refresh_vm_stats")
    rows = rows[rows["flags"] & Flag.CONTINUED == 0]
    assert len(rows) >= count, spell.paths
    assert {trigger.task for trigger in spell.traced.causes(rows)} >= {"stat-refresh"}
    places = {spell.traced.sources[i].path[1] for i in np.unique(rows["source"]).tolist()}
    assert all(place.startswith(f"kworker/{CPU}") for place in places)


def test_the_lockup_watchdog() -> None:
    """Its timer on every core of its mask, and a thread that has to run there."""
    mask = setting("/proc/sys/kernel/watchdog_cpumask", f"{HOUSE},{CPU}")
    with setting("/proc/sys/kernel/watchdog_thresh", "1"), mask:  # looks every 0.4 s
        spell = watch(QUIET)
    assert len(ending(spell.traced, "watchdog_timer_fn")) >= 4, spell.paths
    assert len(spell.traced.rows("thread", f"migration/{CPU}")) >= 4, spell.paths


if Path("/sys/kernel/debug/sched/fair_server").exists():  # since 6.12

    def test_the_deadline_server_of_starving_tasks() -> None:
        """A real-time thread that never sleeps has to let others run for a share of each second."""
        with (
            prepared(CPU, HOUSE, "spin:10:40") as load,
            prepared(CPU, HOUSE, "compete:0:200") as other,
        ):
            os.sched_setscheduler(load.tids["victim"], os.SCHED_RR, os.sched_param(1))
            os.sched_setaffinity(other.tids["victim"], {HOUSE})
            traced = trace(Target((CPU,), pid=load.pid), load.begin, other.begin, load.finish)
        assert len(traced.rows("thread", "compete")) >= 1, {one.path for one in traced.sources}
