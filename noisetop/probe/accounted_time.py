"""Time that the hypervisor, quotas and signals took from a spinning thread, by their accounts.

Read from a housekeeping CPU while the thread spins; none of these reads reaches the watched CPUs.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

from noisetop.gaps.accounted_time import AccountedTime
from noisetop.machine.stolen_time import (
    NS_PER_TICK,
    read_steal_ticks,
    run_delay_ns,
    throttle_files,
    throttled_ns,
)
from noisetop.machine.system import ROOT
from noisetop.tracing.capabilities import NAMES, raised

STEAL = "steal"
STOPPED = "stopped by a signal"
THROTTLED = "throttled by its cgroup"


@dataclass(frozen=True, slots=True)
class Waiting:
    """What the scheduler counted for a thread up to a moment (/proc/PID/schedstat)."""

    ns: int
    run_delay_ns: int
    """Runnable, but not running."""


@dataclass(slots=True)
class Watcher:
    """Polls those counters and notes stops of the process; call poll() a few times a second."""

    pid: int
    cpus: tuple[int, ...]
    tids: tuple[int, ...]
    root: Path = ROOT
    stops: list[tuple[int, int]] = field(default_factory=list)
    """Beginning and end of each time in which the process was stopped; end 0: it still is."""
    waiting: dict[int, list[Waiting]] = field(default_factory=dict)
    """Per thread."""
    _steal: list[tuple[int, dict[int, int]]] = field(default_factory=list)
    _throttled: dict[Path, list[tuple[int, int]]] = field(default_factory=dict)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Begins to note stops; needs the process to be a child of this one."""
        self._thread = threading.Thread(target=self._note_stops, daemon=True)
        self._thread.start()

    def _note_stops(self) -> None:
        flags = os.WSTOPPED | os.WCONTINUED | os.WEXITED | os.WNOWAIT
        while True:
            try:
                status = os.waitid(os.P_PID, self.pid, flags)
                now_ns = time.monotonic_ns()
                if status is None or status.si_code in (
                    os.CLD_EXITED,
                    os.CLD_KILLED,
                    os.CLD_DUMPED,
                ):
                    return
                # WNOWAIT leaves the end to the one who reaps, so this one is consumed here.
                os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WCONTINUED | os.WNOHANG)
            except ChildProcessError:
                return
            self._note(status.si_code, now_ns)

    def _note(self, code: int, now_ns: int) -> None:
        if code == os.CLD_STOPPED:
            self.stops.append((now_ns, 0))
        elif code == os.CLD_CONTINUED and self.stops and not self.stops[-1][1]:
            self.stops[-1] = self.stops[-1][0], now_ns

    def poll(self) -> None:
        """Reads all counters once."""
        with raised(NAMES):
            self._poll()

    def _poll(self) -> None:
        steal = read_steal_ticks(self.root)
        self._steal.append((time.monotonic_ns(), steal))
        for file in throttle_files(self.pid, self.root):
            seen_ns = throttled_ns(file)
            self._throttled.setdefault(file, []).append((time.monotonic_ns(), seen_ns))
        for tid in self.tids:
            delay_ns = run_delay_ns(self.pid, tid, self.root)
            if delay_ns is not None:
                seen = Waiting(time.monotonic_ns(), delay_ns)
                self.waiting.setdefault(tid, []).append(seen)

    def close(self) -> None:
        """Ends the thread; the process must be gone or about to go."""
        if self._thread:
            self._thread.join()
            self._thread = None

    def accounted(self, cpu: int, away_ns: int | None) -> list[AccountedTime]:
        """What was taken from the thread on ``cpu``: stops first, they are known best.

        ``away_ns``: by how much the thread's CPU time and its waits fall short of the wall clock,
        None if that is not known.
        """
        now_ns = time.monotonic_ns()
        stops = [
            AccountedTime(STOPPED, start, end or now_ns, (end or now_ns) - start, is_stop=True)
            for start, end in self.stops
        ]
        throttled = [
            AccountedTime(THROTTLED, since_ns, ns, after - before, is_wait=True)
            for seen in self._throttled.values()
            # A process that ends leaves its cgroup: a gap may end after the last look at that.
            for (since_ns, before), (ns, after) in pairwise([*seen, (now_ns, seen[-1][1])])
        ]
        if cpu < 0:  # not bound: the steal of no CPU is known to be its own
            return [*stops, *throttled]
        if away_ns is not None:
            away_ns -= sum(one.accounted_ns for one in (*stops, *throttled))
        steal = [(ns, ticks.get(cpu, 0)) for ns, ticks in self._steal]
        return [*stops, *throttled, *_accounted_steal(steal, away_ns)]

    def throttled_ns(self) -> int:
        """How long the cgroups of the process kept their tasks from running meanwhile."""
        return sum(seen[-1][1] - seen[0][1] for seen in self._throttled.values())

    def steal_ns(self, cpu: int) -> int:
        """Steal of a CPU between the first poll and the last, as the hypervisor reports it."""
        seen = [ticks.get(cpu, 0) for _, ticks in self._steal]
        return (seen[-1] - seen[0]) * NS_PER_TICK if seen else 0


def _accounted_steal(seen: Sequence[tuple[int, int]], away_ns: int | None) -> list[AccountedTime]:
    """Steal by two independent accounts.

    /proc/stat has it in ticks, so that the true value may lie one tick above or below. The
    scheduler leaves steal out of the thread's CPU time (update_rq_clock_task), which gives it to
    the nanosecond but holds interrupts too where the kernel was built to account their time. The
    finer one is taken as far as the coarser one bears it out.
    """
    if not seen:
        return []
    ticks = seen[-1][1] - seen[0][1]
    total_ns = ticks * NS_PER_TICK
    if away_ns is None:
        total_ns = max(ticks - 1, 0) * NS_PER_TICK
    elif away_ns <= total_ns + NS_PER_TICK:
        total_ns = max(away_ns, 0)
    accounted = []
    for rise in _rises(STEAL, [*seen, (seen[-1][0], seen[-1][1] + 1)], NS_PER_TICK):
        # The last window is the one since the last rise: a part of a tick that is still to come.
        ns = min(rise.accounted_ns, total_ns)
        total_ns -= ns
        accounted.append(replace(rise, accounted_ns=ns))
    return [one for one in accounted if one.accounted_ns]


def _rises(name: str, seen: Sequence[tuple[int, int]], unit_ns: int) -> list[AccountedTime]:
    """One for each rise of a counter, over the time since the rise before.

    A coarse counter rises long after what it counts began, so the window reaches back that far.
    """
    accounted = []
    for i, (ns, count) in enumerate(seen):
        if i == 0:
            since_ns, before = ns, count
        elif count > before:
            accounted.append(AccountedTime(name, since_ns, ns, (count - before) * unit_ns))
            since_ns, before = ns, count
    return accounted
