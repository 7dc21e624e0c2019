"""Whose doing an interruption was: provoked one by one, and never told wrong."""

from __future__ import annotations

import contextlib
import mmap
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from noisetop.events.interruption import Interruptions
from noisetop.events.origin import Origin
from noisetop.machine import system
from noisetop.probe.sampler import Disturb
from noisetop.tracing.target import Target
from tests.kernel.loads import Workload, prepared
from tests.kernel.provoked import bound, disk_of, written
from tests.kernel.spinning import spinning
from tests.kernel.tracing import Traced, trace

pytestmark = pytest.mark.kernel

CPUS = system.online_cpus()
VICTIM_CPU, SENDER_CPU = max(CPUS), min(CPUS)
SECOND_NS = 1_000_000_000
FEW = 500
KNOWN = 0.98
"""Share of which the origin is told at least: a trigger may be lost, never taken for another."""
counts = pytest.mark.parametrize(
    "count", [FEW, pytest.param(100_000, marks=pytest.mark.story)], ids=["few", "100,000"]
)


def acts(count: int, share: float = 1.0) -> int:
    """How many it takes for so many events, where that share of the acts makes one."""
    return round(count / share)


def assert_origin(rows: Interruptions, expected: Origin, count: int) -> None:
    """All of the rows, of which there are so many, have it where any is told."""
    told = Counter(rows["origin"].tolist())
    assert told[expected] >= count * KNOWN, told
    assert not told.keys() - {expected, Origin.UNATTRIBUTED}, told
    assert told[expected] >= KNOWN * len(rows), told


def on_thread(traced: Traced, tid: int, *path: str) -> Interruptions:
    """What delayed one thread."""
    rows = traced.rows(*path)
    mine: Interruptions = rows[rows["victim_tid"] == tid]
    return mine


def by(traced: Traced, rows: Interruptions, load: Workload) -> Interruptions:
    """Those whose trigger is a thread of that load."""
    mine: Interruptions = rows[np.isin(traced.tids(rows), list(load.tids.values()))]
    return mine


@contextlib.contextmanager
def spinner() -> Iterator[Workload]:
    """The victim, a thread of a process that does nothing else."""
    with prepared(VICTIM_CPU, SENDER_CPU, "spin:1:0") as load:
        load.begin()
        yield load


@counts
def test_own_packets(count: int) -> None:
    with prepared(VICTIM_CPU, SENDER_CPU, f"flood:0:{acts(count, 0.9)}") as load:
        tid = load.tids["flood"]
        traced = trace(Target((VICTIM_CPU,), tids=(tid,)), load.run)
    assert_origin(on_thread(traced, tid, "softirq", "NET_RX"), Origin.SELF, count)


@counts
def test_packets_of_another_process(count: int) -> None:
    steering = Path("/sys/class/net/lo/queues/rx-0/rps_cpus")
    with (
        spinner() as victim,
        prepared(SENDER_CPU, SENDER_CPU, f"send:20000:{acts(count, 0.25)}") as load,
        written(steering, f"{1 << VICTIM_CPU:x}"),
    ):
        tid = victim.tids["victim"]
        traced = trace(Target((VICTIM_CPU,), tids=(tid,)), load.run)
    rows = on_thread(traced, tid, "softirq", "NET_RX")
    # On a busy machine one softirq serves many packets.
    assert_origin(rows, Origin.OTHERS, count if count > FEW else count // 10)


@counts
def test_own_timers(count: int) -> None:
    # So long at least that the host may take the CPU for a part of it.
    length_ns = max(acts(count, 0.2) * 100_000, SECOND_NS // 2)
    with spinning(VICTIM_CPU, Disturb.TIMER, length_ns, slice_ns=100_000, timer_ns=30_000) as (
        process,
        tracer,
    ):
        table, sources = tracer.read(), tracer.reader.namer.sources
        [spin] = process.results()
    wanted = [n for n, one in enumerate(sources) if one.path[-1] == "timerfd_tmrproc"]
    rows = table[np.isin(table["source"], wanted) & (table["victim_tid"] == spin.tid)]
    assert_origin(rows, Origin.SELF, count)


@counts
def test_timers_of_another_process(count: int) -> None:
    timers = [f"timerfd:0:{acts(count, 0.9) // 4}"] * 4
    with spinner() as victim, prepared(VICTIM_CPU, SENDER_CPU, *timers) as load:
        tid = victim.tids["victim"]
        traced = trace(Target((VICTIM_CPU,), tids=(tid,)), load.run)
    rows = on_thread(traced, tid, "timer", "…", "timerfd_tmrproc")
    assert_origin(rows, Origin.OTHERS, count)


@counts
def test_memory_unmapped_by_a_sibling(count: int) -> None:
    with prepared(VICTIM_CPU, SENDER_CPU, f"munmap:0:{acts(count, 0.1)}") as load:
        tid = load.tids["victim"]
        traced = trace(Target((VICTIM_CPU,), tids=(tid,)), load.run)
    rows = on_thread(traced, tid, "ipi", "…", "flush_tlb_func")
    assert_origin(by(traced, rows, load), Origin.PROGRAM, count)


@counts
def test_memory_unmapped_in_another_process(count: int) -> None:
    """While a thread of that one has the victim's CPU: nobody else's memory is its concern."""
    with (
        spinner() as victim,
        prepared(
            VICTIM_CPU, SENDER_CPU, f"munmap:0:{acts(count, 0.1)}", f"compete:0:{count}"
        ) as load,
    ):
        tid = victim.tids["victim"]
        traced = trace(Target((VICTIM_CPU,), tids=(tid,)), load.run)
    rows = on_thread(traced, tid, "ipi", "…", "flush_tlb_func")
    assert_origin(by(traced, rows, load), Origin.OTHERS, count)


@counts
def test_the_kernels_own(count: int) -> None:
    """RCU's softirqs come with the tick, one for some hundred acts of unmapping memory."""
    with prepared(VICTIM_CPU, SENDER_CPU, f"munmap:0:{max(acts(count), 10 * FEW)}") as load:
        tid = load.tids["victim"]
        traced = trace(Target((VICTIM_CPU,), tids=(tid,)), load.run)
    rows = on_thread(traced, tid, "softirq", "RCU")
    assert len(rows) > 0
    assert set(rows["origin"].tolist()) == {Origin.KERNEL}


def read_directly(file: Path, cpu: int, count: int) -> None:
    """The first block of a file so many times from a CPU, past the page cache."""
    block = mmap.mmap(-1, mmap.PAGESIZE)
    opened = os.open(file, os.O_RDONLY | os.O_DIRECT)
    with bound(0, cpu):
        for _ in range(count):
            os.preadv(opened, [block], 0)
    os.close(opened)


@pytest.mark.story
def test_a_disk() -> None:
    """The interrupts of what a program on another CPU reads. The device gathers some of them."""
    count = 100_000
    file = Path(sys.executable).resolve()
    # The kernel does not let anybody move the interrupts of a disk.
    line = Path(f"/proc/irq/{disk_of(file)}/effective_affinity_list")
    cpu = int(line.read_text())
    (reader, *_) = set(CPUS) - {cpu}
    with prepared(cpu, reader, "spin:1:0") as victim:
        victim.begin()
        tid = victim.tids["victim"]
        traced = trace(
            Target((cpu,), tids=(tid,)), lambda: read_directly(file, reader, acts(count, 0.9))
        )
    assert_origin(on_thread(traced, tid, "irq", "…"), Origin.DEVICE, count)
    softirqs = on_thread(traced, tid, "softirq", "BLOCK")
    assert set(softirqs["origin"].tolist()) <= {Origin.DEVICE}
