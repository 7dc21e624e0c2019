"""Causes of the noise while it is traced, for as long as somebody looks at them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import MappingProxyType

from noisetop.checks import AuditedMachine
from noisetop.counters.calibration import NONE, Calibration
from noisetop.counters.left_out import NOTHING, LeftOut
from noisetop.diagnosis import Diagnosis, all_rules, diagnose
from noisetop.diagnosis.evidence import Collector, Evidence, Realtime
from noisetop.events.decoder import RecordReader
from noisetop.events.interruption import UNATTRIBUTED, Interruptions
from noisetop.events.task_directory import TaskDirectory
from noisetop.events.trigger import UserStacks
from noisetop.events.waits import WaitBook
from noisetop.summary.cpu_victim import CpuVictims
from noisetop.tracing.capabilities import AUDIT, raised

REFRESH_NS = 5_000_000_000
_MOST_SHARE = 0.003
"""Of a CPU that judging may take: on a machine with many tasks it is done less often."""


@dataclass(slots=True)
class LiveCauses:
    """Collects from when it is wanted, and judges now and then: both cost CPU time."""

    reader: RecordReader
    cpus: tuple[int, ...]
    directory: TaskDirectory
    calibration: Calibration = NONE
    left_out: LeftOut = NOTHING
    """What is not traced because the user asked for less."""
    stacks: Callable[[], tuple[dict[int, tuple[str, ...]], UserStacks]] | None = None
    """Those of the kernel and of programs that were met so far: they tell causes apart."""
    machine: Callable[[], AuditedMachine] | None = None
    """This machine as it is when it is called, for remedies that can be typed; None: its tasks have
    other numbers here."""
    measured: tuple[int, ...] = ()
    """Processes that are watched, by PID: they are no culprits."""
    latest: Diagnosis | None = None
    """The last judgement; None: none yet, or not wanted."""
    _wanted: threading.Event = field(default_factory=threading.Event)
    _collector: Collector | None = None
    _waits: WaitBook = field(default_factory=WaitBook)
    _start_ns: int = 0
    _latest_ns: int = -1
    """When the interval of the last table began."""
    _due_ns: int = 0
    """When it judges next."""

    def want(self, *, wanted: bool) -> None:
        """Callable from any thread."""
        if wanted:
            self._wanted.set()
        else:
            self._wanted.clear()

    def restart(self) -> None:
        """Forgets what was collected."""
        self._collector = self.latest = None

    def forget(self) -> None:
        """Collects anew, as the lists of the reader are others now; the last judgement stays."""
        self._collector = None

    def add(self, table: Interruptions, start_ns: int) -> None:
        """Takes a table of the interval that began then; the first that is taken is the first of
        its interval."""
        is_first, self._latest_ns = start_ns != self._latest_ns, start_ns
        if not self._wanted.is_set():
            self.restart()
            return
        if self._collector is None:
            if not is_first:
                return
            self._collector = Collector(
                self.reader.namer.sources,
                self.reader.join.triggers,
                start_ns=start_ns,
                directory=self.directory,
            )
            self._waits.clear()
            self._start_ns, self._due_ns = start_ns, 0
        self._collector.add(table)

    def judge(
        self, waits: WaitBook, end_ns: int, cpu_victims: CpuVictims = MappingProxyType({})
    ) -> None:
        """The interval has ended; ``waits`` are those of it, and ``cpu_victims`` say whose the CPUs
        are by now."""
        if self._collector is None:
            return
        self._waits.merge(waits)
        # Half a second of tolerance: intervals do not end on the dot.
        if end_ns >= self._due_ns - 500_000_000:
            all_rules()  # loaded once, which is no part of what judging takes
            is_first = self.latest is None
            began_ns = time.thread_time_ns()
            self.latest = self._judged(self._collector, end_ns, cpu_victims)
            took_ns = time.thread_time_ns() - began_ns
            # The first one is of an interval alone: the next one is not far, whatever it takes.
            rest_ns = 0 if is_first else int(took_ns / _MOST_SHARE)
            self._due_ns = end_ns + max(REFRESH_NS, rest_ns)

    def _judged(self, collector: Collector, end_ns: int, cpu_victims: CpuVictims) -> Diagnosis:
        if self.stacks is not None:
            collector.stacks, collector.user_stacks = self.stacks()
        with raised(AUDIT):
            machine = self.machine() if self.machine is not None else None
            return diagnose(self._evidence(collector, end_ns, cpu_victims, machine))

    def _evidence(
        self,
        collector: Collector,
        end_ns: int,
        cpu_victims: CpuVictims,
        machine: AuditedMachine | None,
    ) -> Evidence:
        return Evidence(
            shares=collector.shares(self.calibration, end_ns - self._start_ns),
            fault_count=collector.fault_count,
            fault_ns=collector.fault_ns,
            duration_ns=max(end_ns - self._start_ns, 1),
            start_ns=self._start_ns,
            cpus=self.cpus,
            online=machine.online if machine is not None else (),
            realtime=Realtime.of(machine) if machine is not None else None,
            machine=machine,
            accounted=UNATTRIBUTED in self.reader.namer.sources,
            uncalibrated="" if self.calibration.kinds else self.calibration.reason,
            left_out=self.left_out,
            directory=self.directory,
            short_lived=collector.short_lived(),
            waits=dict(self._waits.by_task()),
            victims=self.measured,
            cpu_victims=cpu_victims,
        )
