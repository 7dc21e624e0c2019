"""Gaps made on purpose are found with their length and named; the probe itself stays quiet."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from noisetop.gaps.result import CpuSpin, LongGap
from noisetop.machine.system import read_text
from noisetop.probe.accounted_time import STOPPED, THROTTLED
from noisetop.probe.priority import parse_priority
from noisetop.probe.sampler import NAME
from noisetop.probe.spin import SpinSettings, run_spin
from noisetop.probe.spin_result import UNREPORTED_WAIT
from noisetop.probe.switch import SwitchSettings, run_switch
from noisetop.tracing.stopper import Stopper
from tests.kernel.forked import run
from tests.kernel.program import PATIENCE_S

pytestmark = pytest.mark.kernel

SECOND_NS = 1_000_000_000
CPU = max(os.sched_getaffinity(0))
HOUSE = tuple(sorted(os.sched_getaffinity(0) - {CPU}))
LENGTH_TOLERANCE = 0.02
LOOK_NS = 20_000_000
"""Between two looks at a count that tell when it changed."""
ATTEMPTS = 12
"""Stretches among which one has to be quiet enough to measure in: the first, on a quiet host."""
MEMBARRIER = partial(
    ctypes.CDLL(None, use_errno=True).syscall, 324 if os.uname().machine == "x86_64" else 283
)
SEND, REGISTER = 1 << 1, 1 << 2  # global expedited, include/uapi/linux/membarrier.h
TICK_FUNCTIONS = ("tick_nohz_handler", "tick_sched_timer", "tick_nohz_highres_handler")
# On a busy machine the others get a hundredth of the CPU, and there is no real-time throttling.
FAVOURED = parse_priority("o:-20")
# Nobody else's timers and threads, but for the twentieth that real-time threads leave to others.
ALONE = parse_priority("f:1")

INTRUDER = """
import os, sys, time
cpu, length_ns, times = map(int, sys.argv[1:])
open("/proc/self/comm", "w").write("intruder")
os.sched_setaffinity(0, {cpu})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
for _ in range(times):
    time.sleep(0.1)
    start = time.monotonic_ns()
    while time.monotonic_ns() < start + length_ns:
        pass
    print(start, time.monotonic_ns(), flush=True)
time.sleep(0.2)  # so that its end is a gap of its own
"""


@pytest.fixture
def stopper() -> Iterator[Stopper]:
    one = Stopper()
    yield one
    one.close()


def settings(duration_s: float, **more: object) -> SpinSettings:
    return SpinSettings((CPU,), round(duration_s * SECOND_NS), HOUSE, **more)  # type: ignore[arg-type]


def spinning_pid(name: str = NAME) -> int:
    """The spinning child of this process, once it has spun for a while; waits for it."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        for task in Path("/proc/self/task").iterdir():
            for child in read_text(task / "children").split():
                with contextlib.suppress(OSError):
                    comm = Path(f"/proc/{child}/comm").read_text().strip()
                    ran_ns = int(Path(f"/proc/{child}/schedstat").read_text().split()[0])
                    if comm == name and ran_ns > SECOND_NS // 5:
                        return int(child)
        time.sleep(0.01)
    raise AssertionError("no process is spinning")


@contextlib.contextmanager
def meanwhile(action: Callable[[int], None]) -> Iterator[None]:
    """Runs ``action`` with the spinning process beside the block; its failure is the test's."""
    failures: list[Exception] = []

    def guarded() -> None:
        try:
            action(spinning_pid())
        except (AssertionError, OSError, subprocess.SubprocessError) as failure:
            failures.append(failure)

    thread = threading.Thread(target=guarded)
    thread.start()
    try:
        yield
    finally:
        thread.join(PATIENCE_S)
    if failures:
        raise failures[0]


def gap_around(spin: CpuSpin, moment_ns: int) -> LongGap | None:
    """The gap of that moment, if it is one of the longest."""
    around = [g for g in spin.longest if g.start_ns <= moment_ns <= g.start_ns + g.length_ns]
    return around[0] if around else None


def is_clean(gap: LongGap) -> bool:
    """Whether nobody else ran in it: on a busy machine that is part of the gap, and rightly so.

    Of a task that the kernel hides from its own tracepoints only the wait is known.
    """
    others = [
        part
        for part in gap.parts
        if (part.path[0] == "thread" and part.path[1] != "intruder") or UNREPORTED_WAIT in part.path
    ]
    return sum(part.net_ns for part in others) < 0.002 * gap.length_ns


def part_ns(gap: LongGap, name: str) -> int:
    return sum(part.net_ns for part in gap.parts if name in part.path)


def check_sums(spin: CpuSpin) -> None:
    assert spin.explained
    named = sum(part.net_ns for part in spin.parts)
    assert spin.unexplained_ns is not None
    assert named + spin.unexplained_ns == spin.lost_ns
    assert spin.explained.excess_ns == 0
    medians = {cost.kind: cost for cost in spin.explained.entry_costs}
    for part in spin.parts:
        if part.kind == "entry":
            assert part.net_ns <= part.count * medians[part.label].p50_ns


def busy(what: str) -> None:
    """Ends a test that found no moment at which it could measure."""
    pytest.skip(f"others kept CPU {CPU} busy: {what}")


def test_a_stopped_process_is_found_and_named(stopper: Stopper) -> None:
    """It stops when it sees the signal, at the latest when /proc says so, and goes on when it is
    told to: between these moments the true length lies, whatever delays the test itself."""
    moments: list[int] = []

    def stop(pid: int) -> None:
        # So that the four moments lie close together on a busy machine, too.
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
        moments[:] = [time.monotonic_ns()]
        os.kill(pid, signal.SIGSTOP)
        until_state(pid, "T")
        moments.append(time.monotonic_ns())
        time.sleep(0.3)
        moments.append(time.monotonic_ns())
        os.kill(pid, signal.SIGCONT)
        moments.append(time.monotonic_ns())

    for _ in range(ATTEMPTS):
        with meanwhile(stop):
            spin = run_spin(settings(1, priority=FAVOURED), stopper).cpus[0]
        check_sums(spin)
        if not (spin.start_ns < moments[0] and moments[3] < spin.end_ns):
            continue  # others had its CPU for so long that it was stopped at its end
        gap = gap_around(spin, (moments[1] + moments[2]) // 2)
        assert gap, (moments, spin.longest)
        least, most = moments[2] - moments[1], moments[3] - moments[0]
        named = part_ns(gap, STOPPED)
        assert (1 - LENGTH_TOLERANCE) * least <= named <= (1 + LENGTH_TOLERANCE) * most
        if most <= (1 + LENGTH_TOLERANCE) * least:
            return
    busy("the signal took long to be seen")


def until_state(pid: int, state: str) -> None:
    """Waits until /proc shows a process in that state."""
    end = time.monotonic() + PATIENCE_S
    while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != state:
        assert time.monotonic() < end, f"process {pid} never got into state {state}"
        time.sleep(0.0005)


def test_an_intruder_is_found_with_its_length_and_named(stopper: Stopper) -> None:
    lines: list[str] = []

    def intrude(_: int) -> None:
        arguments = [sys.executable, "-S", "-c", INTRUDER, str(CPU), "50000000", "6"]
        done = subprocess.run(arguments, capture_output=True, text=True, check=True, timeout=20)
        lines[:] = done.stdout.splitlines()

    lengths: list[tuple[int, int, int]] = []
    for _ in range(ATTEMPTS):
        with meanwhile(intrude):
            spin = run_spin(settings(1.7, priority=FAVOURED), stopper).cpus[0]
        check_sums(spin)
        for start, end in (map(int, line.split()) for line in lines):
            gap = gap_around(spin, (start + end) // 2)
            if gap and is_clean(gap):
                lengths.append((end - start, gap.length_ns, part_ns(gap, "intruder")))
        if len(lengths) >= 5:
            break
    else:
        busy(f"{len(lengths)} intrusions were alone in their gap")
    right = [
        made == pytest.approx(seen, rel=LENGTH_TOLERANCE)
        and made == pytest.approx(named, rel=LENGTH_TOLERANCE)
        for made, seen, named in lengths
    ]
    # What the hypervisor takes from the intruder itself is in its own figure alone.
    assert sum(right) >= 0.8 * len(right), lengths


@contextlib.contextmanager
def limited_cgroup(quota_us: int, period_us: int) -> Iterator[Path]:
    """A cgroup, of version 2 or 1, that may use that much CPU time."""
    second = Path("/sys/fs/cgroup/cgroup.controllers")
    root = second.parent if second.exists() else second.parent / "cpu"
    folder = root / f"noisetop-test-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup can be made here: {error.strerror}")
    try:
        if second.exists():
            (root / "cgroup.subtree_control").write_text("+cpu")
            (folder / "cpu.max").write_text(f"{quota_us} {period_us}")
            (folder / "cpu.weight").write_text("10000")
        else:
            (folder / "cpu.cfs_period_us").write_text(str(period_us))
            (folder / "cpu.cfs_quota_us").write_text(str(quota_us))
            (folder / "cpu.shares").write_text("262144")
        yield folder
    finally:
        folder.rmdir()


def throttled_total_ns(folder: Path) -> int:
    rows = dict(line.split() for line in (folder / "cpu.stat").read_text().splitlines())
    return int(rows.get("throttled_time", 0)) or int(rows.get("throttled_usec", 0)) * 1_000


class Look(NamedTuple):
    """What the kernel had counted at a moment, when that was seen to have changed."""

    since_ns: int
    """When it was looked at before."""
    ns: int
    throttled_ns: int


def follow_throttling(pid: int, folder: Path) -> list[Look]:
    """Puts a process into a cgroup; what the kernel counted while it lives.

    The kernel adds to its count when a throttling ends: that gives the length of each.
    """
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    before_ns = time.monotonic_ns()
    seen = [Look(before_ns, before_ns, throttled_total_ns(folder))]
    (folder / "cgroup.procs").write_text(str(pid))
    while folder.name in read_text(Path(f"/proc/{pid}/cgroup")):
        time.sleep(0.005)
        counted, now_ns = throttled_total_ns(folder), time.monotonic_ns()
        if counted != seen[-1].throttled_ns:
            seen.append(Look(before_ns, now_ns, counted))
        before_ns = now_ns
    return seen


def throttlings(spin: CpuSpin, seen: list[Look]) -> Iterator[tuple[LongGap, int]]:
    """The gap of each, and how long it was by the kernel's count. When it ended, and that it was
    one, is only known where the count was looked at in time."""
    for before, after in pairwise(seen):
        length_ns = after.throttled_ns - before.throttled_ns
        gap = gap_around(spin, after.ns - 30_000_000)
        if not gap or length_ns <= 40_000_000 or after.ns - after.since_ns > LOOK_NS:
            continue
        # Some guests hide that the idle task runs: the probe names no cause then.
        if part_ns(gap, UNREPORTED_WAIT) <= gap.length_ns / 2:
            yield gap, length_ns


def stood_still(gap: LongGap, length_ns: int) -> bool:
    """Whether nobody ran, and yet the thread was away for longer: the hypervisor took its CPU.
    Then it is not told which part of the time that the kernel counted belongs to which gap."""
    return is_clean(gap) and gap.length_ns > (1 + LENGTH_TOLERANCE) * length_ns


def check_throttling(gap: LongGap, length_ns: int) -> None:
    """What runs meanwhile is in the trace, and the gap lasts until that gives way."""
    if is_clean(gap):
        assert part_ns(gap, THROTTLED) >= (1 - LENGTH_TOLERANCE) * gap.length_ns
        assert gap.length_ns == pytest.approx(length_ns, rel=LENGTH_TOLERANCE)
    else:
        assert gap.length_ns >= (1 - LENGTH_TOLERANCE) * length_ns
        assert (gap.unexplained_ns or 0) <= LENGTH_TOLERANCE * gap.length_ns


def test_a_throttled_cgroup_is_found_and_named(stopper: Stopper) -> None:
    seen: list[Look] = []

    with limited_cgroup(20_000, 100_000) as folder:

        def limit(pid: int) -> None:
            seen[:] = follow_throttling(pid, folder)

        measured = 0
        for _ in range(ATTEMPTS):
            with meanwhile(limit):
                spin = run_spin(settings(1, priority=FAVOURED), stopper).cpus[0]
            check_sums(spin)
            found = list(throttlings(spin, seen))
            assert all(gap.length_ns >= (1 - LENGTH_TOLERANCE) * ns for gap, ns in found), found
            if not any(stood_still(gap, ns) for gap, ns in found):
                for gap, ns in found:
                    check_throttling(gap, ns)
                measured += len(found)
            # The period in which it came into the cgroup may be missing.
            total_ns = seen[-1].throttled_ns - seen[0].throttled_ns
            assert total_ns - 100_000_000 <= spin.throttled_ns <= total_ns
            if measured >= 3:
                return
    busy(f"{measured} throttlings were seen")


def receive_interrupts() -> None:
    """This process, and the spinning child that inherits it, from whoever asks for a barrier."""
    assert MEMBARRIER(REGISTER, 0) == 0


def test_a_burst_of_interrupts_is_found_and_named(stopper: Stopper) -> None:
    receive_interrupts()
    bursts = 300
    moments: list[int] = []

    def burst(_: int) -> None:
        os.sched_setaffinity(0, HOUSE)
        moments[:] = [time.monotonic_ns()]
        for _ in range(bursts):
            assert MEMBARRIER(SEND, 0) == 0
        moments.append(time.monotonic_ns())

    # A membarrier reaches only CPUs on which its process runs at that moment.
    for _ in range(ATTEMPTS):
        with meanwhile(burst):
            spin = run_spin(settings(1, priority=ALONE), stopper).cpus[0]
        check_sums(spin)
        reached = sum(p.count for p in spin.parts if p.path[-1] == "ipi_mb")
        assert spin.interrupts.get("CAL Function call interrupts", 0) >= reached
        if reached >= 0.95 * bursts:
            return
        gaps = [g for g in spin.longest if g.start_ns < moments[1]]
        away = [g for g in gaps if g.start_ns + g.length_ns > moments[0] and not is_clean(g)]
        assert away, "the thread ran and yet interrupts are missing"
    busy(f"{reached} of {bursts} interrupts found the thread running")


def test_the_tick_is_found_among_what_else_comes_regularly(stopper: Stopper) -> None:
    """The host's own tick, on a guest, and timers of others. Whoever takes the CPU from the thread
    now and then takes ticks along: then it waits for a quieter stretch."""
    for _ in range(ATTEMPTS):
        spin = run_spin(settings(1, priority=ALONE), stopper).cpus[0]
        assert spin.explained
        ticks = sum(p.count for p in spin.parts if p.path[-1] in TICK_FUNCTIONS)
        assert ticks, "no tick was traced"
        if spin.lost_share < 0.2:
            break
    else:
        busy("the thread hardly ran")
    assert spin.regular
    traced_hz = ticks * SECOND_NS / spin.active_ns
    hertz = min((100, 250, 300, 1000), key=lambda hz: abs(hz - traced_hz))
    assert spin.regular.period_ns == pytest.approx(SECOND_NS / hertz, rel=0.01)


def own_share(spin: CpuSpin) -> float:
    """What is explained of the time that this kernel took and does not hide from tracepoints."""
    told = spin.explained
    assert told
    assert told.outside
    outside = told.outside
    assert outside.interrupts_traced > 250
    # More interrupts in the trace than were counted would be no interrupts.
    assert outside.interrupts_traced <= outside.interrupts_counted + 2
    outside_ns = outside.regular_ns + outside.irregular_ns + outside.before_ns
    assert outside_ns + told.unreported_wait_ns <= (spin.unexplained_ns or 0)
    own_ns = told.lost_above_1us_ns - outside_ns - told.unreported_wait_ns
    return told.explained_share_above_1us * told.lost_above_1us_ns / own_ns


def interrupt(pid: int) -> None:
    """As often as it can be done, until the process is dead."""
    os.sched_setaffinity(0, HOUSE)
    dead = Path(f"/proc/{pid}/stat")
    while read_text(dead).rpartition(")")[2].split()[:1] not in ([], ["Z"]):
        for _ in range(20):
            assert MEMBARRIER(SEND, 0) == 0


def test_most_of_the_lost_time_is_explained_and_the_rest_is_told(stopper: Stopper) -> None:
    """Of what this kernel did, 95 %: what it cannot see at all, and what it hides from its own
    tracepoints, is told apart. A hypervisor that takes the CPU now and then and says nothing may
    look like neither, and its ticks prolong interrupts: among many it is less, and where it is not,
    another run has to do."""
    receive_interrupts()
    shares: list[float] = []
    while not shares or (shares[-1] < 0.95 and len(shares) < ATTEMPTS):
        with meanwhile(interrupt):
            result = run_spin(settings(0.6), stopper)
        spin = result.cpus[0]
        check_sums(spin)
        assert result.clock.uncertainty_ns < 1_000
        assert spin.explained
        assert spin.explained.lost_events == 0
        shares.append(own_share(spin))
    assert shares[-1] >= 0.95, shares


def test_the_loop_makes_no_system_call(stopper: Stopper) -> None:
    tracing = Path("/sys/kernel/tracing")
    if not (tracing / "instances").is_dir():
        subprocess.run(["mount", "-t", "tracefs", "tracefs", tracing], check=True)
    folder = tracing / "instances" / f"noisetop-test-{os.getpid()}"
    folder.mkdir()
    counted: list[str] = []

    def count(pid: int) -> None:
        event = folder / "events/raw_syscalls/sys_enter"
        (event / "filter").write_text(f"common_pid == {pid}")
        (event / "enable").write_text("1")
        time.sleep(0.3)
        (event / "enable").write_text("0")
        counted.append(Path(f"/proc/{pid}/schedstat").read_text())
        counted.append((folder / "trace").read_text())

    try:
        with meanwhile(count):
            spin = run_spin(settings(0.8, trace=False), stopper).cpus[0]
    finally:
        folder.rmdir()
    assert spin.loops > 1_000_000
    lines = [line for line in counted[1].splitlines() if line and line[0] != "#"]
    assert lines == []


def test_switches_agree_with_the_trace(stopper: Stopper) -> None:
    result = run_switch(SwitchSettings(CPU, 2, SECOND_NS // 2, HOUSE), stopper)
    assert result.switches > 10
    assert result.traced_switches is not None
    assert result.unseen_ns is not None
    assert result.traced_switches >= 0.98 * result.switches
    ran_ns = sum(process.ran_ns for process in result.processes)
    assert result.unseen_ns <= 0.01 * ran_ns
    assert ran_ns <= result.duration_ns
    assert result.switch_ns["min"] > 0


def as_nobody(*arguments: str) -> subprocess.CompletedProcess[str]:
    """noisetop without any privilege; its folder may be closed to others, its modules are not."""
    command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all"]
    return subprocess.run(
        [*command, sys.executable, "-m", "noisetop", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.side_by_side
def test_without_privileges_gaps_and_counters_are_left() -> None:
    done = as_nobody("probe", "spin", "-c", str(CPU), "-d", "300ms", "--json")
    assert done.returncode == 0, done.stderr
    [run_] = json.loads(done.stdout)["spin"]
    [spin] = run_["cpus"]
    assert spin["gaps"] > 0
    assert spin["explained"] is None
    assert any("not explained" in line for line in run_["missing"])
    assert spin["interrupts"]["LOC Local timer interrupts"] > 0


@pytest.mark.side_by_side
def test_without_privileges_a_priority_is_one_line() -> None:
    done = as_nobody("probe", "spin", "-c", str(CPU), "-d", "300ms", "-P", "f:10")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "f:10" in done.stderr


@pytest.mark.side_by_side
def test_json_carries_the_explanation() -> None:
    done = run("probe", "spin", "-c", str(CPU), "-d", "300ms", "--json")
    assert done.returncode == 0, done.stderr
    [spin] = json.loads(done.stdout)["spin"][0]["cpus"]
    assert {"explained_share", "lost_ns", "gaps", "parts", "unexplained_ns"} <= set(spin)
    named = sum(part["net_ns"] for part in spin["parts"])
    assert named + spin["unexplained_ns"] == spin["lost_ns"]
    assert spin["explained_share"] == pytest.approx(1 - spin["unexplained_ns"] / spin["lost_ns"])
