"""The tracer beside a spinning process: its events, kept until the gaps are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from noisetop.counters.losses import LOSSES, Losses
from noisetop.events.interruption import INTERRUPTION, Interruptions, Source
from noisetop.tracing.target import Target
from noisetop.tracing.tracer import Tracer

_ENTRIES = ("irq", "ipi", "timer")
_ENTRY_STEPS = 2
"""What an interrupt called has a longer path, timer functions of the softirq are under that."""


@dataclass(slots=True)
class Trace:
    """Everything that was traced while the threads of one process spun."""

    tables: list[Interruptions] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    losses: Losses = field(default_factory=Losses)
    missing: tuple[str, ...] = ()
    host_number: Callable[[int], int] = int
    """What the records call a thread of ours."""

    def of_victim(self, tid: int) -> Interruptions:
        """Interruptions of one thread, in the order in which they ended.

        The idle task delays no other: it runs beside a runnable thread only while a quota throttles
        that one, which the quota's own account has.
        """
        if not self.tables:
            return np.empty(0, INTERRUPTION)
        is_thread = np.array([source.noise_class == "thread" for source in self.sources], bool)
        victim = self.host_number(tid)
        mine = np.concatenate([table[table["victim_tid"] == victim] for table in self.tables])
        taken: Interruptions = mine[~(is_thread[mine["source"]] & (mine["tid"] == 0))]
        return taken

    def all(self) -> Interruptions:
        """Interruptions of everybody."""
        return np.concatenate([*self.tables, np.empty(0, INTERRUPTION)])

    def entries(self, cpu: int, since_ns: int, until_ns: int) -> int:
        """Interrupts of a CPU between two moments, without NMIs."""
        wanted = [
            i
            for i, source in enumerate(self.sources)
            if source.noise_class in _ENTRIES and len(source.path) == _ENTRY_STEPS
        ]
        table = self.all()
        start = table["start_ns"].astype(np.int64)
        mine = (table["cpu"] == cpu) & (start >= since_ns) & (start <= until_ns)
        return int((mine & np.isin(table["source"], wanted)).sum())

    def notes(self) -> list[str]:
        """What the trace cannot show on this kernel."""
        if not self.missing:
            return []
        return [f"not traced, this kernel has no {', '.join(self.missing)}"]

    def unreported_switches(self, cpu: int) -> int:
        """Context switches that the kernel did not report."""
        return self.losses.by_cpu.get(cpu, {}).get("switch", 0)


@dataclass(slots=True)
class Tracing:
    """A tracer whose events are collected now and then; enter it before the loops begin."""

    target: Target
    housekeeping: tuple[int, ...]
    trace: Trace = field(default_factory=Trace)
    _tracer: Tracer | None = None

    def open(self, tracer: Tracer) -> None:
        """Starts the window of an entered tracer."""
        self._tracer = tracer
        self.trace.host_number = tracer.host_numbers.task
        tracer.start_window()

    def collect(self) -> None:
        """Takes over what was traced since the last call."""
        if self._tracer:
            table = self._tracer.read()
            if len(table):
                self.trace.tables.append(table)

    def close(self) -> None:
        """Stops the window and takes over the rest."""
        if not self._tracer:
            return
        self._tracer.stop_window()
        self.collect()
        self.trace.sources = self._tracer.reader.namer.sources
        self.trace.losses = self._tracer.window_counters().of(LOSSES)
        self.trace.missing = self._tracer.unavailable()
