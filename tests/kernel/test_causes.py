"""Causes provoked one at a time: each is named first, and its remedy as printed takes it away."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from noisetop.machine import system
from tests.kernel import program
from tests.kernel.loads import PATIENCE_S, Workload, prepared
from tests.kernel.provoked import (
    bound,
    heavy,
    kernel_threads,
    undisturbed,
    urgent,
    written,
)
from tests.kernel.provoked import program as python
from tests.kernel.test_waits import quota

pytestmark = pytest.mark.kernel

SENDER_CPU = min(system.online_cpus())
VICTIM_CPU = max(system.online_cpus())
SENDERS, VICTIMS = (format(1 << cpu, "x") for cpu in (SENDER_CPU, VICTIM_CPU))
"""Masks."""
DURATION = "1s"
WORKQUEUE = Path("/sys/devices/virtual/workqueue/cpumask")
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage")
OF_OTHERS = (
    *("other-program", "guest-threads", "container-service", "system-service", "own-threads"),
    *("disk-interrupt", "disk-completion", "filesystem", "noisetop-itself", "sleep-timer"),
    "woken-late",
)
"""What programs of others on this machine and its host cause: they are waited for."""


@dataclass
class Diagnosed:
    """A cause that was named first, and what to compare with later."""

    finding: dict[str, Any]
    saved: Path
    target: list[str]

    @property
    def key(self) -> str:
        return str(self.finding["key"])

    def apply(self) -> None:
        """Types the remedy."""
        shell(self.finding, "remedy")

    def undo(self) -> None:
        """Types what takes it back."""
        shell(self.finding, "undo")

    def assert_gone(self, *target: str) -> None:
        """Measures again."""
        after = diagnose(*(target or self.target), "--against", str(self.saved))
        fates = {change["key"]: change for change in after["changes"]}
        assert fates[self.key]["verdict"] == "gone", (fates[self.key], summary(after))
        assert fates[self.key]["significant"], fates[self.key]


def shell(finding: dict[str, Any], text: str) -> None:
    assert finding["shell"], finding["remedy"]
    subprocess.run(["sh", "-c", finding[text]], check=True, capture_output=True)


def diagnose(*options: str) -> dict[str, Any]:
    here = ["-c", str(VICTIM_CPU), "-H", str(SENDER_CPU), "-d", DURATION, "--json"]
    # It would start slowly where a real-time program has the CPU.
    done = program.run(
        "diagnose", *here, *options, preexec_fn=lambda: os.sched_setaffinity(0, {SENDER_CPU})
    )
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    assert document["explained_ns"] + document["unexplained_ns"] == document["total_ns"]
    return document


def summary(document: dict[str, Any]) -> list[tuple[str, int, int]]:
    return [(one["key"], one["net_ns"], one["wait_ns"]) for one in document["findings"][:5]]


def named_first(folder: Path, key: str, load: Workload, *options: str) -> Diagnosed:
    """Tried again while programs of others are what costs the process of the load most, or the
    cause did not act: kernel threads wait for each other."""
    saved, target = folder / "before.json", ["-p", str(load.pid), *options]
    end = time.monotonic() + PATIENCE_S - 10
    while True:
        document = diagnose(*target, "--save", str(saved), "--force")
        top = document["findings"][0]
        own = [one for one in document["findings"] if one["origins"] == ["self"]]
        for first in (top, *own[:1]):
            if first["key"] == key:
                return Diagnosed(first, saved, target)
        foreign = top["key"].startswith(OF_OTHERS)
        absent = key not in {finding["key"] for finding in document["findings"]}
        assert foreign or absent, f"{key} is not the first of {summary(document)}"
        assert time.monotonic() < end, f"{key} is not the first in the end: {summary(document)}"


@contextlib.contextmanager
def spinning() -> Iterator[Workload]:
    with undisturbed(VICTIM_CPU, SENDER_CPU, "spin:2000:0") as load:
        yield load


def line_of_random_numbers() -> int:
    """The interrupt of a device that nobody else asks anything of."""
    name = Path("/sys/class/misc/hw_random/rng_current").read_text().strip()
    assert name.startswith("virtio_rng"), f"no test knows how to have {name or 'nothing'} interrupt"
    (device,) = Path("/sys/bus/virtio/drivers/virtio_rng").glob("virtio*")
    lines = Path("/proc/interrupts").read_text().splitlines()
    return next(int(line.split(":")[0]) for line in lines if f" {device.name}-input" in line)


def test_a_device_interrupt_is_moved(tmp_path: Path) -> None:
    line = line_of_random_numbers()
    affinity = Path(f"/proc/irq/{line}/smp_affinity_list")
    with (
        written(affinity, str(VICTIM_CPU)),
        undisturbed(VICTIM_CPU, SENDER_CPU, "random:0:0") as load,
    ):
        (name,) = (folder.name for folder in Path(f"/proc/irq/{line}").glob("virtio*"))
        key = f"hypervisor-device-interrupt:{line} {name}"
        # The device may be given random numbers ten times a second only.
        diagnosed = named_first(tmp_path, key, load, "-d", "3s")
        read = {"path": str(affinity), "value": str(VICTIM_CPU)}
        assert read in diagnosed.finding["read"]
        diagnosed.apply()
        diagnosed.assert_gone()
        diagnosed.undo()
        assert affinity.read_text().strip() == str(VICTIM_CPU)


def test_memory_barriers_are_left_out(tmp_path: Path) -> None:
    with undisturbed(VICTIM_CPU, SENDER_CPU, "membarrier:0:0") as load:
        diagnosed = named_first(tmp_path, "membarrier:membarrier", load)
        assert diagnosed.finding["senders"][0]["label"] == f"membarrier {load.tids['membarrier']}"
        # Its own program: there is nothing to type.
        assert "avoid membarrier" in diagnosed.finding["remedy"]
    with spinning() as load:
        diagnosed.assert_gone("-p", str(load.pid))


def test_freed_memory_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with undisturbed(VICTIM_CPU, SENDER_CPU, "malloc:0:0") as load:
        diagnosed = named_first(tmp_path, "unmap:malloc", load)
    variables = re.findall(r"(\w+)=(\S+) ", diagnosed.finding["remedy"])
    assert variables
    for name, value in variables:
        monkeypatch.setenv(name, value)
    with undisturbed(VICTIM_CPU, SENDER_CPU, "malloc:0:0") as load:
        diagnosed.assert_gone("-p", str(load.pid))


def test_who_flips_a_switch_in_the_kernel_is_stopped(tmp_path: Path) -> None:
    with undisturbed(VICTIM_CPU, SENDER_CPU, "timestamp:0:0") as load:
        diagnosed = named_first(tmp_path, "switch-flipped:timestamp", load)
        assert f"timestamp {load.tids['timestamp']}" in str(diagnosed.finding["senders"])
        assert diagnosed.finding["remedy"].startswith("stop what changes it")
    with spinning() as load:
        diagnosed.assert_gone("-p", str(load.pid))


def test_packets_are_steered_elsewhere(tmp_path: Path) -> None:
    steering = Path("/sys/class/net/lo/queues/rx-0/rps_cpus")
    with (
        written(steering, VICTIMS),
        undisturbed(VICTIM_CPU, SENDER_CPU, "send:0:0") as load,
    ):
        diagnosed = named_first(tmp_path, "packet-steering", load)
        diagnosed.apply()
        assert int(steering.read_text(), 16) == 0
        diagnosed.assert_gone()
        diagnosed.undo()
        assert steering.read_text().strip() == VICTIMS


def test_a_realtime_program_is_moved(tmp_path: Path) -> None:
    with (
        heavy(VICTIM_CPU, SENDER_CPU, "spin:2000:0") as load,
        undisturbed(VICTIM_CPU, SENDER_CPU, "spin:2000:0") as intruder,
    ):
        diagnosed = named_first(tmp_path, "realtime-program:victim", load)
        diagnosed.apply()
        diagnosed.assert_gone()
        diagnosed.undo()
        assert os.sched_getaffinity(intruder.tids["victim"]) == {VICTIM_CPU}
        assert os.sched_getaffinity(load.tids["victim"]) == {VICTIM_CPU}


def test_a_second_program_is_moved(tmp_path: Path) -> None:
    with (
        heavy(VICTIM_CPU, SENDER_CPU, "spin:2000:0") as load,
        heavy(VICTIM_CPU, SENDER_CPU, "spin:2000:0") as intruder,
    ):
        diagnosed = named_first(tmp_path, "other-program", load)
        assert diagnosed.finding["culprits"][0]["pid"] == intruder.pid
        diagnosed.apply()
        after = diagnose(*diagnosed.target)
        culprits = [who["pid"] for one in after["findings"] for who in one["culprits"]]
        assert intruder.pid not in culprits, summary(after)
        diagnosed.undo()
        assert os.sched_getaffinity(intruder.tids["victim"]) == {VICTIM_CPU}


def test_a_timer_is_armed_elsewhere(tmp_path: Path) -> None:
    with (
        spinning() as load,
        prepared(VICTIM_CPU, SENDER_CPU, "alarm:200:0") as alarms,
        urgent([alarms.tids["alarm"]]),
        bound(alarms.tids["victim"], SENDER_CPU),
    ):
        alarms.begin()
        diagnosed = named_first(tmp_path, "posix-timer:alarm", load)
        diagnosed.apply()
        diagnosed.assert_gone()
        diagnosed.undo()
        assert os.sched_getaffinity(alarms.tids["alarm"]) == {VICTIM_CPU}


def test_a_quota_is_lifted(tmp_path: Path) -> None:
    with (
        quota(percent=20) as tasks,
        prepared(VICTIM_CPU, SENDER_CPU, *["compete:0:0"] * 3) as load,
    ):
        tasks.write_text(str(load.pid))
        load.begin()
        diagnosed = named_first(tmp_path, "quota", load)
        (read,) = diagnosed.finding["read"]
        assert Path(read["path"]).is_relative_to(tasks.parent)
        before = Path(read["path"]).read_text()
        diagnosed.apply()
        diagnosed.assert_gone()
        diagnosed.undo()
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


def test_unbound_work_is_kept_off_the_cpu(tmp_path: Path) -> None:
    with (
        written(WORKQUEUE, VICTIMS),
        python(SENDER_CPU, TERMINAL),
        urgent(kernel_threads("kworker/u.*")),
        spinning() as load,
    ):
        diagnosed = named_first(tmp_path, "unbound-worker:flush_to_ldisc", load)
        diagnosed.apply()
        assert int(WORKQUEUE.read_text(), 16) == int(SENDERS, 16)
        diagnosed.assert_gone()
        diagnosed.undo()
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


def test_huge_pages_are_left_alone(tmp_path: Path) -> None:
    (collector,) = kernel_threads("khugepaged")
    with (
        written(HUGE_PAGES / "khugepaged/scan_sleep_millisecs", "0"),
        # Once it found no huge page it sleeps for a minute.
        written(HUGE_PAGES / "khugepaged/alloc_sleep_millisecs", "0"),
        written(HUGE_PAGES / "khugepaged/pages_to_scan", "100000"),
        written(HUGE_PAGES / "enabled", "madvise"),
        bound(collector, VICTIM_CPU),
        urgent([collector]),
        spinning() as load,
        python(SENDER_CPU, HUGE),
    ):
        diagnosed = named_first(tmp_path, "huge-page-collapse", load)
        diagnosed.apply()
        diagnosed.assert_gone()
        diagnosed.undo()
        assert "[madvise]" in (HUGE_PAGES / "enabled").read_text()


BARRIERS = """
import ctypes
system_call = ctypes.CDLL(None).syscall
print("ready", flush=True)
while True:
    system_call(324, 1, 0, 0)  # membarrier(MEMBARRIER_CMD_GLOBAL) waits for a grace period
"""


def test_nobody_hurries_the_freeing_of_memory(tmp_path: Path) -> None:
    normal = Path("/sys/kernel/rcu_normal")
    with (
        written("/sys/kernel/rcu_expedited", "1"),
        written(normal, "0"),
        spinning() as load,
        python(SENDER_CPU, BARRIERS),
    ):
        diagnosed = named_first(tmp_path, "rcu-expedited:rcu_exp_gp_kthr", load)
        diagnosed.apply()
        diagnosed.assert_gone()
        diagnosed.undo()
        assert normal.read_text().strip() == "0"


@contextlib.contextmanager
def touching(kind: str) -> Iterator[Workload]:
    """A thread that has its CPU for itself and touches memory."""
    with (
        prepared(VICTIM_CPU, SENDER_CPU, f"{kind}:200:0") as load,
        bound(load.tids["victim"], SENDER_CPU),
        urgent([load.tids[kind]]),
    ):
        load.begin()
        yield load


def test_memory_is_locked(tmp_path: Path) -> None:
    with touching("touch") as load:
        diagnosed = named_first(tmp_path, "page-fault", load, "--faults")
        assert "mlockall" in diagnosed.finding["remedy"]
    with touching("touch-locked") as load:
        diagnosed.assert_gone("-p", str(load.pid), "--faults")
