"""What of a trace befell one thread."""

from __future__ import annotations

import numpy as np

from noisetop.counters.losses import Losses
from noisetop.events.interruption import INTERRUPTION, Source
from noisetop.probe.traced import Trace


def test_the_idle_task_takes_a_cpu_from_nobody() -> None:
    table = np.zeros(4, INTERRUPTION)
    table["victim_tid"] = (7, 7, 7, 8)
    table["source"] = (0, 1, 2, 1)
    table["tid"] = (0, 5, 0, 5)
    sources = [Source(("thread", "swapper/1")), Source(("thread", "x")), Source(("timer", "y"))]
    trace = Trace([table[:2], table[2:]], sources)
    assert trace.of_victim(7)["source"].tolist() == [1, 2]
    assert len(trace.all()) == 4


def test_losses_are_those_of_the_cpu_and_of_what_comes_after_its_ring() -> None:
    losses = Losses(by_cpu={1: {"ring_full": 2, "switch": 9}, 2: {"ring_full": 4}}, lost_batch=3)
    trace = Trace([], [], losses, ("a", "b"))
    assert trace.losses.events_lost_on(1) == 5
    assert trace.unreported_switches(1) == 9
    assert len(trace.of_victim(7)) == 0
    assert trace.notes() == ["not traced, this kernel has no a, b"]


def test_entries_are_interrupts_without_what_they_called() -> None:
    table = np.zeros(6, INTERRUPTION)
    table["source"] = (0, 1, 2, 3, 0, 0)
    table["start_ns"] = (10, 11, 12, 13, 99, 14)
    table["cpu"] = (1, 1, 1, 1, 1, 2)
    sources = [
        Source(("timer", "local_timer")),
        Source(("timer", "local_timer", "tick_nohz_handler")),
        Source(("softirq", "RCU")),
        Source(("ipi", "reschedule")),
    ]
    trace = Trace([table], sources)
    assert trace.entries(1, 10, 50) == 2
    assert trace.entries(1, 11, 99) == 2
    assert trace.entries(2, 0, 99) == 1
