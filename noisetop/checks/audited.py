"""The machine that checks judge: what it is tuned for, and what was counted on it over time."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from noisetop.checks.status import Goal, Status
from noisetop.machine.kernel_counters import CounterScope, KernelCounters, Window
from noisetop.machine.machine import Machine
from noisetop.machine.reading import CannotTellError
from noisetop.machine.spin import Spin
from noisetop.machine.system import ROOT
from noisetop.machine.tasks import Task


class AuditedMachine(Machine):
    """A machine with the goal of its tuning, its counters over a window, and timed spins."""

    def __init__(
        self,
        root: Path = ROOT,
        *,
        cpus: Iterable[int] | None = None,
        goal: Goal = Goal.REALTIME,
        pid: int | None = None,
        window: Window | None = None,
        spins: tuple[Spin, ...] = (),
    ) -> None:
        super().__init__(root, cpus=cpus, pid=pid)
        self.goal = goal
        self.window = window
        self.spins = spins

    def worse(self) -> Status:
        """FAIL where every interruption counts; WARN where a benchmark can live with it."""
        return Status.FAIL if self.goal is Goal.REALTIME else Status.WARN

    def need_workload(self) -> tuple[Task, ...]:
        """Raises CannotTellError when no program is known that the CPUs are meant for."""
        if self.workload:
            return self.workload
        if self.pid is not None:
            raise CannotTellError(f"process {self.pid} cannot be seen")
        raise CannotTellError("no program is bound to the watched CPUs: name it with -p PID")

    @property
    def counter_scope(self) -> CounterScope:
        """What to sample for the checks that look at growth."""
        watched = set(self.cpus)
        workload = {task.tid for task in self.workload}
        threads = tuple(
            f"/proc/{task.pid}/task/{task.tid}"
            for task in self.tasks
            if task.tid in workload or (task.kernel and task.allowed and task.allowed <= watched)
        )
        spare = self.housekeeping[0] if self.housekeeping else None
        return CounterScope(cpus=self.cpus, threads=threads, smi_cpu=spare)

    def need_window(self) -> tuple[KernelCounters, KernelCounters, float]:
        """Counters before and after, and seconds between. Raises CannotTellError."""
        if self.window is None:
            raise CannotTellError("no counters were sampled over time")
        return self.window.before, self.window.after, self.window.seconds
