"""Causes provoked one at a time: each is named first, and its remedy as printed takes it away."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from noisetop.diagnosis import Diagnosis
from noisetop.machine import system
from tests.kernel import diagnosing, forked, program
from tests.kernel.diagnosing import Cause, Traced, first_finding
from tests.kernel.loads import Workload, prepared
from tests.kernel.provoked import (
    attentive,
    bound,
    favoured,
    kernel_threads,
    line_of_random_numbers,
    undisturbed,
    urgent,
    urgent_workers,
    written,
)
from tests.kernel.provoked import program as python
from tests.kernel.test_waits import quota

pytestmark = pytest.mark.kernel

SENDER_CPU = min(system.online_cpus())
VICTIM_CPU = max(system.online_cpus())
SENDERS, VICTIMS = (format(1 << cpu, "x") for cpu in (SENDER_CPU, VICTIM_CPU))
"""Masks."""
WORKQUEUE = Path("/sys/devices/virtual/workqueue/cpumask")
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage")
STEERING = Path("/sys/class/net/lo/queues/rx-0/rps_cpus")
SPIN = "spin:2000:0"


def shell(finding: dict[str, Any], text: str) -> None:
    """Types what a finding says."""
    assert finding["shell"], finding["remedy"]
    subprocess.run(["sh", "-c", finding[text]], check=True, capture_output=True)


def apply(cause: Cause) -> None:
    shell(cause.finding, "remedy")


def undo(cause: Cause) -> None:
    shell(cause.finding, "undo")


def traced(load: Workload, *, faults: bool = False) -> contextlib.AbstractContextManager[Traced]:
    return diagnosing.traced(load, VICTIM_CPU, SENDER_CPU, faults=faults)


@contextlib.contextmanager
def traced_act(*acts: str) -> Iterator[tuple[Workload, Traced]]:
    """Traces threads that act on a real-time victim."""
    with undisturbed(VICTIM_CPU, SENDER_CPU, *acts) as load, traced(load) as trace:
        yield load, trace


@pytest.fixture(scope="module")
def left_alone() -> Diagnosis:
    """Of a thread that spins while nobody acts on it."""
    with traced_act(SPIN) as (_, trace):
        return trace.diagnose()


def test_a_device_interrupt_is_moved() -> None:
    line = line_of_random_numbers()
    affinity = Path(f"/proc/irq/{line}/smp_affinity_list")
    with written(affinity, str(VICTIM_CPU)), traced_act("random:0:0") as (_, trace):
        (name,) = (folder.name for folder in Path(f"/proc/irq/{line}").glob("virtio*"))
        cause = trace.find(f"hypervisor-device-interrupt:{line} {name}")
        assert {"path": str(affinity), "value": str(VICTIM_CPU)} in cause.finding["read"]
        apply(cause)
        trace.assert_gone(cause)
        undo(cause)
        assert affinity.read_text().strip() == str(VICTIM_CPU)


def test_memory_barriers_are_left_out(left_alone: Diagnosis) -> None:
    with traced_act("membarrier:5000:0") as (load, trace):
        cause = trace.find("membarrier:membarrier")
    assert cause.finding["senders"][0]["label"] == f"membarrier {load.tids['membarrier']}"
    # Its own program: there is nothing to type.
    assert "avoid membarrier" in cause.finding["remedy"]
    cause.assert_gone(left_alone)


def test_freed_memory_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    with traced_act("malloc:5000:0") as (_, trace):
        cause = trace.find("unmap:malloc")
    variables = re.findall(r"(\w+)=(\S+) ", cause.finding["remedy"])
    assert variables
    for name, value in variables:
        monkeypatch.setenv(name, value)
    with traced_act("malloc:5000:0") as (_, trace):
        trace.assert_gone(cause)


def test_who_flips_a_switch_in_the_kernel_is_stopped(left_alone: Diagnosis) -> None:
    # With pauses, as the kernel flips it back in a thread of normal priority.
    with traced_act("timestamp:4000:0") as (load, trace):
        cause = trace.find("switch-flipped:timestamp")
    assert f"timestamp {load.tids['timestamp']}" in str(cause.finding["senders"])
    assert cause.finding["remedy"].startswith("stop what changes it")
    cause.assert_gone(left_alone)


def diagnose(*options: str | Path) -> dict[str, Any]:
    """As the command says it."""
    here = ["-c", str(VICTIM_CPU), "-H", str(SENDER_CPU), "-d", "300ms", "--json"]
    done = forked.run("diagnose", *here, *options)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_packets_are_steered_elsewhere(tmp_path: Path) -> None:
    """By the command alone, from the diagnosis to the comparison after the remedy."""
    with (
        written(STEERING, VICTIMS),
        undisturbed(VICTIM_CPU, SENDER_CPU, "send:5000:0") as load,
        attentive(),
    ):
        load.begin()
        before = diagnose("-p", str(load.pid), "--save", tmp_path / "before.json")
        finding = first_finding(before, "packet-steering")
        shell(finding, "remedy")
        assert int(STEERING.read_text(), 16) == 0
        after = diagnose("-p", str(load.pid), "--against", tmp_path / "before.json")
        (change,) = (one for one in after["changes"] if one["key"] == finding["key"])
        assert change["verdict"] == "gone", change
        assert change["significant"], change
        shell(finding, "undo")
        assert STEERING.read_text().strip() == VICTIMS


def test_a_realtime_program_is_moved() -> None:
    with (
        favoured(VICTIM_CPU, SENDER_CPU, SPIN) as load,
        prepared(VICTIM_CPU, SENDER_CPU, "compete:200:0") as intruder,
        urgent([intruder.tids["compete"]]),
        bound(intruder.tids["victim"], SENDER_CPU),
        traced(load) as trace,
    ):
        intruder.begin()
        cause = trace.find("realtime-program:compete")
        apply(cause)
        trace.assert_gone(cause)
        undo(cause)
        assert os.sched_getaffinity(intruder.tids["compete"]) == {VICTIM_CPU}
        assert os.sched_getaffinity(load.tids["victim"]) == {VICTIM_CPU}


def test_a_second_program_is_moved() -> None:
    with (
        favoured(VICTIM_CPU, SENDER_CPU, SPIN) as load,
        favoured(VICTIM_CPU, SENDER_CPU, SPIN) as intruder,
        traced(load) as trace,
    ):
        intruder.begin()
        cause = trace.find("other-program")
        assert cause.finding["culprits"][0]["pid"] == intruder.pid
        apply(cause)
        # Programs of others may be left.
        program.wait_for(
            lambda: all(
                culprit.pid != intruder.pid
                for finding in trace.diagnose().findings
                for culprit in finding.culprits
            ),
            "the other program to go",
        )
        undo(cause)
        assert os.sched_getaffinity(intruder.tids["victim"]) == {VICTIM_CPU}


def test_a_timer_is_armed_elsewhere() -> None:
    with (
        undisturbed(VICTIM_CPU, SENDER_CPU, SPIN) as load,
        prepared(VICTIM_CPU, SENDER_CPU, "alarm:200:0") as alarms,
        urgent([alarms.tids["alarm"]]),
        bound(alarms.tids["victim"], SENDER_CPU),
        traced(load) as trace,
    ):
        alarms.begin()
        cause = trace.find("posix-timer:alarm")
        apply(cause)
        trace.assert_gone(cause)
        undo(cause)
        assert os.sched_getaffinity(alarms.tids["alarm"]) == {VICTIM_CPU}


def test_a_quota_is_lifted() -> None:
    with (
        quota(percent=20) as tasks,
        prepared(VICTIM_CPU, SENDER_CPU, *["compete:0:0"] * 3) as load,
    ):
        tasks.write_text(str(load.pid))
        with traced(load) as trace:
            cause = trace.find("quota")
            (read,) = cause.finding["read"]
            assert Path(read["path"]).is_relative_to(tasks.parent)
            before = Path(read["path"]).read_text()
            apply(cause)
            trace.assert_gone(cause)
            undo(cause)
            assert Path(read["path"]).read_text() == before


TERMINAL = """
import itertools, os, pty, termios, tty
here, there = pty.openpty()
tty.setraw(there)
for burst in itertools.count():
    for _ in range(16):
        os.write(here, b"x" * 64)
    termios.tcflush(there, termios.TCIFLUSH)
    if burst == 1000:
        print("ready", flush=True)
"""


def test_unbound_work_is_kept_off_the_cpu() -> None:
    with (
        written(WORKQUEUE, VICTIMS),
        python(SENDER_CPU, TERMINAL),
        urgent_workers(),
        traced_act(SPIN) as (_, trace),
    ):
        cause = trace.find("unbound-worker:flush_to_ldisc")
        apply(cause)
        assert int(WORKQUEUE.read_text(), 16) == int(SENDERS, 16)
        trace.assert_gone(cause)
        undo(cause)
        assert int(WORKQUEUE.read_text(), 16) == int(VICTIMS, 16)


HUGE = f"""
import mmap
COLLAPSED = "{HUGE_PAGES}/khugepaged/pages_collapsed"
memory = mmap.mmap(-1, 256 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
print("ready", flush=True)
while True:
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    for at in range(0, len(memory), mmap.PAGESIZE):
        memory[at] = 1
    memory.madvise(mmap.MADV_HUGEPAGE)
    collapsed = lambda: int(open(COLLAPSED).read())
    end = collapsed() + 64
    while collapsed() < end:
        pass
    memory.madvise(mmap.MADV_DONTNEED)
"""


def test_huge_pages_are_left_alone() -> None:
    (collector,) = kernel_threads("khugepaged")
    with (
        written(HUGE_PAGES / "khugepaged/scan_sleep_millisecs", "0"),
        # Once it found no huge page it sleeps for a minute.
        written(HUGE_PAGES / "khugepaged/alloc_sleep_millisecs", "0"),
        written(HUGE_PAGES / "khugepaged/pages_to_scan", "100000"),
        written(HUGE_PAGES / "enabled", "madvise"),
        bound(collector, VICTIM_CPU),
        urgent([collector]),
        python(SENDER_CPU, HUGE),
        traced_act(SPIN) as (_, trace),
    ):
        cause = trace.find("huge-page-collapse")
        apply(cause)
        trace.assert_gone(cause)
        undo(cause)
        assert "[madvise]" in (HUGE_PAGES / "enabled").read_text()


BARRIERS = """
import ctypes
system_call = ctypes.CDLL(None).syscall
print("ready", flush=True)
while True:
    system_call(324, 1, 0, 0)  # membarrier(MEMBARRIER_CMD_GLOBAL) waits for a grace period
"""


def test_nobody_hurries_the_freeing_of_memory() -> None:
    normal = Path("/sys/kernel/rcu_normal")
    with (
        written("/sys/kernel/rcu_expedited", "1"),
        written(normal, "0"),
        python(SENDER_CPU, BARRIERS),
        traced_act(SPIN) as (_, trace),
    ):
        cause = trace.find("rcu-expedited:rcu_exp_gp_kthr")
        apply(cause)
        trace.assert_gone(cause)
        undo(cause)
        assert normal.read_text().strip() == "0"


@contextlib.contextmanager
def touching(kind: str) -> Iterator[Traced]:
    """A thread that has its CPU for itself and touches memory."""
    with (
        prepared(VICTIM_CPU, SENDER_CPU, f"{kind}:200:0") as load,
        bound(load.tids["victim"], SENDER_CPU),
        urgent([load.tids[kind]]),
        traced(load, faults=True) as trace,
    ):
        yield trace


def test_memory_is_locked() -> None:
    with touching("touch") as trace:
        cause = trace.find("page-fault")
        assert "mlockall" in cause.finding["remedy"]
    with touching("touch-locked") as trace:
        trace.assert_gone(cause)
