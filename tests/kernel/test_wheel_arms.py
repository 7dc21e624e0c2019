"""Timers of the wheel: who armed each that expires, by the kernel's own trace, and how many of
those that do not are recorded."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

from noisetop.events.interruption import Interruptions
from noisetop.events.records import Pieces
from noisetop.machine import system
from noisetop.tracing.target import Target
from noisetop.tracing.tracer import Tracer
from tests.kernel import books
from tests.kernel.kernel_trace import KernelTrace, kernel_trace
from tests.kernel.tracing import kernel_symbols

pytestmark = pytest.mark.kernel

CPUS = system.online_cpus()
CPU = max(CPUS)
"""Where the timers are armed. While it is idle another one may call their functions."""
WAITERS, WAITS = 60, 10
"""So many wait at once, beside timers of packets, that some share a place with another timer."""
TIMEOUT_US = 12_000
TIMEOUT = "process_timeout"
CONNECTIONS, PACKETS = 50, 200
ENOUGH, FEWER = 1000, 5


@dataclass
class Recorded:
    """Takes the records as they were written."""

    tracer: Tracer
    armed: list[np.void] = field(default_factory=list)
    tables: list[Interruptions] = field(default_factory=list)
    tids: list[int] = field(default_factory=list)
    """Of the threads, in their order."""

    def note(self, pieces: Pieces, _until_ns: int) -> None:
        layout = self.tracer.layout
        [source] = [n for n, kind in layout.kinds.items() if kind.name == "timer_start"]
        for piece in pieces.triggers:
            triggers = piece.view(layout.trigger)
            self.armed.extend(triggers[triggers["source"] == source])

    def rows(self, function: str) -> Interruptions:
        """Timers that called this function."""
        sources = self.tracer.reader.namer.sources
        numbers = [n for n, one in enumerate(sources) if one.path[-1] == function]
        table = np.concatenate(self.tables)
        rows: Interruptions = table[np.isin(table["source"], numbers)]
        return rows


def traced(*acts: Callable[[], None]) -> tuple[Recorded, KernelTrace]:
    """What the two tracers tell of acts, each of which a thread on the watched CPU does."""
    with (
        kernel_trace("timer/timer_start", "timer/timer_expire_entry") as theirs,
        Tracer(Target(CPUS), symbols=kernel_symbols(), samples_cost=False) as tracer,
    ):
        ours = Recorded(tracer)
        tracer.on_records = ours.note
        tracer.start_window()
        threads = [threading.Thread(target=on_cpu, args=(act,)) for act in acts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        ours.tids = [thread.native_id or 0 for thread in threads]
        ours.tables.append(tracer.read())
        tracer.stop_window()
        ours.tables.append(tracer.read())
    return ours, theirs


def on_cpu(act: Callable[[], None]) -> None:
    os.sched_setaffinity(0, {CPU})
    act()


def wait_in_vain() -> None:
    """Waits for what never comes: the timeout of a socket is a timer of the wheel, that of poll(2)
    is not."""
    ours, _theirs = socket.socketpair(type=socket.SOCK_DGRAM)
    with ours, _theirs:
        timeout = struct.pack("ll", 0, TIMEOUT_US)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeout)
        for _ in range(WAITS):
            with contextlib.suppress(BlockingIOError):
                ours.recv(1)


def send() -> None:
    """Each packet may be lost: the timer that would send it again is put off by the next one, once
    in each of its units of time."""
    with contextlib.ExitStack() as stack, socket.create_server(("127.0.0.1", 0)) as server:
        pairs = []
        for _ in range(CONNECTIONS):
            ours = stack.enter_context(socket.create_connection(server.getsockname()))
            pairs.append((ours, stack.enter_context(server.accept()[0])))
        for ours, theirs in pairs * PACKETS:
            ours.send(b"!")
            theirs.recv(1)
            theirs.send(b"?")
            ours.recv(1)


def test_each_that_expires_names_who_armed_it_last() -> None:
    ours, theirs = traced(*[wait_in_vain] * WAITERS, send)
    # What ksoftirqd runs carries its name in place of the timer.
    hidden = books.tids_of_init() | books.tids_named("ksoftirqd/")
    armed: dict[str, tuple[int, int]] = {}
    expected, shown = Counter[tuple[int, int]](), Counter[tuple[int, int]]()
    for event in sorted(theirs.events, key=lambda event: event.time_ns):
        timer = event.value("timer")
        if event.name == "timer_start":
            armed[timer] = event.tid, event.cpu
        elif f"function={TIMEOUT} " in event.text and timer in armed:
            expected[armed[timer]] += 1
            shown[armed[timer]] += event.tid not in hidden
    rows, triggers = ours.rows(TIMEOUT), ours.tracer.reader.join.triggers
    told = Counter((triggers[n].tid, triggers[n].cpu) for n in rows["trigger"].tolist())
    waiters = [(tid, CPU) for tid in ours.tids[:WAITERS]]
    assert [expected[who] for who in waiters] == [WAITS] * WAITERS
    assert all(shown[who] <= told[who] <= WAITS for who in waiters), (shown, told)


def test_it_tells_when_that_was() -> None:
    """At the last time that it was armed: after the one before it had expired."""
    ours, _ = traced(wait_in_vain)
    rows, triggers = ours.rows(TIMEOUT), ours.tracer.reader.join.triggers
    tids = np.array([one.tid for one in triggers])[rows["trigger"]]
    mine = np.sort(rows[tids == ours.tids[0]], order="start_ns")
    assert WAITS / 2 < len(mine) <= WAITS
    assert (mine["trigger_ns"] < mine["start_ns"]).all()
    assert (mine["trigger_ns"][1:] > mine["start_ns"][:-1]).all()


def test_what_is_put_off_is_not_recorded() -> None:
    ours, theirs = traced(send)
    arms = [e for e in theirs.events if e.name == "timer_start" and e.cpu == CPU]
    assert len(arms) > ENOUGH
    assert len(ours.armed) < len(arms) // FEWER
