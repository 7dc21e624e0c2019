"""Who raised each softirq, by the kernel's own trace."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pytest

from noisetop.events.interruption import Flag
from noisetop.events.layout import Events
from noisetop.events.records import Pieces
from noisetop.machine import system
from noisetop.tables.rows import joined
from noisetop.tracing.target import Target
from noisetop.tracing.tracer import Tracer
from tests.kernel.kernel_trace import Traced, kernel_trace
from tests.kernel.loads import prepared

pytestmark = pytest.mark.kernel

CPUS = system.online_cpus()
CPU, OTHER = max(CPUS), min(CPUS)
ACTS = ("timerfd:2000:1500", "flood:4000:3000", "nanosleep:2000:1500", "membarrier:2000:1500")
PACKETS, ENOUGH = 3000, 1000
AT_ONCE_NS = 100_000
"""Between two programs of one tracepoint; a host may take the CPU meanwhile."""
FEWEST = 0.99
"""Share of the softirqs that are found in both."""
CONTEXTS = {0: ".", 1: "s", 2: "h"}
"""As the kernel's trace writes what enum noise_context numbers."""

Who = tuple[str, int]
"""Context, and the task where that is one."""


@dataclass
class Ours:
    """Softirqs as they were recorded."""

    tracer: Tracer
    pieces: list[Events] = field(default_factory=list)

    def note(self, pieces: Pieces, _until_ns: int) -> None:
        self.pieces.extend(pieces.events)

    def by_vector(self) -> dict[int, list[tuple[int, Who | None]]]:
        """Moment and raiser, but for those that are a thread's own work."""
        layout = self.tracer.layout
        [source] = [n for n, kind in layout.kinds.items() if kind.name == "softirq"]
        rows = joined(self.pieces)
        rows = rows[(rows["source"] == source) & ~Flag.THREADED.among(rows["flags"])]
        found: dict[int, list[tuple[int, Who | None]]] = {}
        for row, raiser in zip(
            rows, rows["object"].copy().view(layout.dtype("noise_raiser")), strict=True
        ):
            context = CONTEXTS.get(int(raiser["context"]) - 1)
            who = context and (context, int(raiser["tid"]) if context == "." else 0)
            found.setdefault(int(row["id"]), []).append((int(row["start_ns"]), who or None))
        return found


def theirs_by_vector(events: Iterable[Traced]) -> dict[int, list[tuple[int, Who | None]]]:
    """The same by the kernel: whoever raised it first since it ran."""
    raised: dict[int, Who] = {}
    found: dict[int, list[tuple[int, Who | None]]] = {}
    for event in events:
        vector, context = int(event.value("vec")), event.context.replace("H", "h")
        if event.name == "softirq_raise":
            raised.setdefault(vector, (context, event.tid if context == "." else 0))
        else:
            found.setdefault(vector, []).append((event.time_ns, raised.pop(vector, None)))
    return found


def compared(
    ours: Mapping[int, list[tuple[int, Who | None]]],
    theirs: Mapping[int, list[tuple[int, Who | None]]],
) -> Counter[tuple[int, Who | None, Who | None]]:
    """How often which raisers belong to one softirq, by vector: ours, theirs."""
    found: Counter[tuple[int, Who | None, Who | None]] = Counter()
    for vector, told in ours.items():
        known = theirs.get(vector, [])
        moments = np.array([moment for moment, _ in known], np.int64)
        for moment, who in told:
            apart = np.abs(moments - moment)
            if len(apart) and apart.min() < AT_ONCE_NS:
                found[vector, who, known[int(apart.argmin())][1]] += 1
    return found


def exchange() -> None:
    """With oneself, and with a port that nobody listens to: softirqs answer for that."""
    os.sched_setaffinity(0, {CPU})
    with contextlib.ExitStack() as stack, socket.create_server(("127.0.0.1", 0)) as server:
        ours = stack.enter_context(socket.create_connection(server.getsockname()))
        theirs = stack.enter_context(server.accept()[0])
        for _ in range(PACKETS):
            ours.send(b"!")
            theirs.recv(1)
    with socket.socket(type=socket.SOCK_DGRAM) as sender:
        for _ in range(PACKETS):
            with contextlib.suppress(ConnectionRefusedError):
                sender.sendto(b"!", ("127.0.0.1", 9))


@pytest.mark.parametrize("by_process", [False, True], ids=["cpu", "process"])
def test_each_softirq_names_who_raised_it_first(by_process: bool) -> None:
    with contextlib.ExitStack() as stack:
        load = stack.enter_context(prepared(CPU, OTHER, *ACTS))
        theirs = stack.enter_context(kernel_trace("irq/softirq_raise", "irq/softirq_entry"))
        target = Target((CPU,), pid=load.pid if by_process else 0)
        tracer = stack.enter_context(Tracer(target, samples_cost=False))
        ours = Ours(tracer)
        tracer.on_records = ours.note
        tracer.start_window()
        thread = threading.Thread(target=exchange)
        thread.start()
        load.run()
        thread.join()
        tracer.stop_window()
        tracer.read()
    told = ours.by_vector()
    found = compared(told, theirs_by_vector(event for event in theirs.events if event.cpu == CPU))
    assert sum(found.values()) >= FEWEST * sum(map(len, told.values()))
    wrong = {key: count for key, count in found.items() if key[1] != key[2]}
    assert not wrong, (wrong, found)
    contexts: Counter[str] = Counter()
    for (_, who, _), count in found.items():
        contexts[who[0] if who else ""] += count
    assert contexts["."] >= ENOUGH, contexts
    assert contexts["h"], contexts
