"""What the hypervisor, the scheduler and signals admit to have taken from a spinning thread.

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

from noisetop.probe.explain import Admission
from noisetop.system import ROOT, read_text

STEAL = "steal"
STOPPED = "stopped by a signal"
THROTTLED = "throttled by its cgroup"
_STEAL_FIELD = 8  # of a cpu line in /proc/stat, proc(5)
NS_PER_TICK = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Waiting:
    """What the scheduler counted for a thread up to a moment (/proc/PID/schedstat)."""

    ns: int
    run_delay_ns: int
    """Runnable, but not running."""


def steal_ticks(root: Path = ROOT) -> dict[int, int]:
    """Steal of each CPU in ticks of USER_HZ, as the hypervisor reports it."""
    ticks = {}
    for line in read_text(root / "proc/stat").splitlines():
        fields = line.split()
        if fields and fields[0][:3] == "cpu" and fields[0][3:].isdigit():
            ticks[int(fields[0][3:])] = int(fields[_STEAL_FIELD]) if len(fields) > 8 else 0
    return ticks


def run_delay_ns(pid: int, tid: int, root: Path = ROOT) -> int | None:
    """How long a thread waited for a CPU so far; None where the kernel does not count it."""
    fields = read_text(root / f"proc/{pid}/task/{tid}/schedstat").split()
    return int(fields[1]) if len(fields) > 1 else None


def throttle_files(pid: int, root: Path = ROOT) -> tuple[Path, ...]:
    """cpu.stat of each cgroup around a process that limits its CPU time."""
    files = []
    for line in read_text(root / f"proc/{pid}/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        for mount in _mounts(controllers, root):
            folder = mount / path.lstrip("/")
            while folder != mount.parent:
                if _has_quota(folder):
                    files.append(folder / "cpu.stat")
                folder = folder.parent
    return tuple(files)


def _mounts(controllers: str, root: Path) -> list[Path]:
    base = root / "sys/fs/cgroup"
    if not controllers:
        return [base, base / "unified"]
    return [base / controllers] if "cpu" in controllers.split(",") else []


def _has_quota(folder: Path) -> bool:
    limit = read_text(folder / "cpu.max").split() or read_text(folder / "cpu.cfs_quota_us").split()
    return bool(limit) and limit[0] not in ("max", "-1")


def throttled_ns(file: Path) -> int:
    """Time that a cgroup kept its tasks from running so far, summed over CPUs."""
    for line in read_text(file).splitlines():
        name, _, value = line.partition(" ")
        if name == "throttled_time":  # cgroup v1, ns
            return int(value)
        if name == "throttled_usec":  # cgroup v2
            return int(value) * 1_000
    return 0


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
        steal = steal_ticks(self.root)
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

    def admissions(self, cpu: int, away_ns: int | None) -> list[Admission]:
        """What was taken from the thread on ``cpu``: stops first, they are known best.

        ``away_ns``: by how much the thread's CPU time and its waits fall short of the wall clock,
        None if that cannot be told.
        """
        now_ns = time.monotonic_ns()
        stops = [
            Admission(STOPPED, start, end or now_ns, (end or now_ns) - start, is_stop=True)
            for start, end in self.stops
        ]
        throttled = [
            Admission(THROTTLED, since_ns, ns, after - before, is_wait=True)
            for seen in self._throttled.values()
            for (since_ns, before), (ns, after) in pairwise(seen)
        ]
        if cpu < 0:  # not bound: nobody knows whose steal it was
            return [*stops, *throttled]
        if away_ns is not None:
            away_ns -= sum(one.admitted_ns for one in (*stops, *throttled))
        steal = [(ns, ticks.get(cpu, 0)) for ns, ticks in self._steal]
        return [*stops, *throttled, *_steal_admissions(steal, away_ns)]

    def throttled_ns(self) -> int:
        """How long the cgroups of the process kept their tasks from running meanwhile."""
        return sum(seen[-1][1] - seen[0][1] for seen in self._throttled.values())

    def steal_ns(self, cpu: int) -> int:
        """Steal that the hypervisor admits for a CPU between the first poll and the last."""
        seen = [ticks.get(cpu, 0) for _, ticks in self._steal]
        return (seen[-1] - seen[0]) * NS_PER_TICK if seen else 0


def _steal_admissions(seen: Sequence[tuple[int, int]], away_ns: int | None) -> list[Admission]:
    """Steal by two independent accounts.

    /proc/stat tells it in ticks, so that the true value may lie one tick above or below. The
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
    admissions = []
    for rise in _rises(STEAL, [*seen, (seen[-1][0], seen[-1][1] + 1)], NS_PER_TICK):
        # The last window is the one since the last rise: a part of a tick that is still to come.
        ns = min(rise.admitted_ns, total_ns)
        total_ns -= ns
        admissions.append(replace(rise, admitted_ns=ns))
    return [one for one in admissions if one.admitted_ns]


def _rises(name: str, seen: Sequence[tuple[int, int]], unit_ns: int) -> list[Admission]:
    """One admission for each rise of a counter, over the time since the one before.

    A coarse counter rises long after what it counts began, so the window reaches back that far.
    """
    admissions = []
    for i, (ns, count) in enumerate(seen):
        if i == 0:
            since_ns, before = ns, count
        elif count > before:
            admissions.append(Admission(name, since_ns, ns, (count - before) * unit_ns))
            since_ns, before = ns, count
    return admissions
