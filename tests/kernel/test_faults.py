"""Page faults against the kernel's own books: minflt and majflt in /proc/PID/task/TID/stat."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from noisetop.events.interruption import SIDE_LEVEL, Interruptions
from noisetop.machine import system
from noisetop.summary.summarizer import Summarizer
from noisetop.tracing.target import Target
from tests.kernel import faulting
from tests.kernel.forked import run
from tests.kernel.loads import PATIENCE_S, prepared, stop
from tests.kernel.program import bpftool, read
from tests.kernel.tracing import Traced, trace

pytestmark = pytest.mark.kernel

CPUS = system.online_cpus()
FRESH, READ = 3_000, 40
_STATE, _MINFLT, _MAJFLT = 0, 7, 9
"""Fields of /proc/PID/stat behind the task's name (proc_pid_stat(5))."""


@dataclass
class Faulting:
    """tests/kernel/faulting.py, at rest between its rounds."""

    process: subprocess.Popen[bytes]
    tids: list[int]
    wall_ns: int = 0

    @property
    def pid(self) -> int:
        return self.process.pid

    def all_tids(self) -> list[int]:
        return [self.pid, *self.tids]

    def rest(self) -> None:
        """Waits until all its threads sleep, so that no fault is under way."""
        end = time.monotonic() + PATIENCE_S
        while any(_stat(self.pid, tid)[_STATE] != "S" for tid in self.all_tids()):
            assert time.monotonic() < end, "it does not come to rest"
            time.sleep(0.01)

    def round(self) -> None:
        """Lets all its threads fault."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(b"go\n")
        self.process.stdin.flush()
        self.wall_ns += int(self.process.stdout.readline())
        self.rest()

    def faults(self) -> dict[int, tuple[int, int]]:
        """Minor and major ones of each thread so far."""
        return {
            tid: (int(stat[_MINFLT]), int(stat[_MAJFLT]))
            for tid in self.all_tids()
            if (stat := _stat(self.pid, tid))
        }

    def cpu_ns(self) -> dict[int, int]:
        """CPU time of each thread so far (first field of schedstat)."""
        files = {tid: Path(f"/proc/{self.pid}/task/{tid}/schedstat") for tid in self.all_tids()}
        return {tid: int(file.read_text().split()[0]) for tid, file in files.items()}


def _stat(pid: int, tid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{tid}/stat").read_text().rpartition(")")[2].split()


@contextlib.contextmanager
def faulting_process(
    file: Path, threads: int = 1, fresh: int = FRESH, read: int = READ
) -> Iterator[Faulting]:
    """The process after its first round, in which it meets its own code."""
    with file.open("wb") as out:
        out.write(os.urandom(faulting.PAGE) * (READ * faulting.APART))
        out.flush()
        os.fsync(out.fileno())
    arguments = [str(number) for number in (threads, fresh, read)]
    process = subprocess.Popen(
        [sys.executable, faulting.__file__, *arguments, str(file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert process.stdout
        load = Faulting(process, [int(tid) for tid in process.stdout.readline().split()])
        load.round()
        load.wall_ns = 0
        yield load
    finally:
        stop(process)


def of_tid(rows: Interruptions, tid: int) -> Interruptions:
    found: Interruptions = rows[rows["victim_tid"] == tid]
    return found


def assert_counts_equal(
    traced: Traced, load: Faulting, before: dict[int, tuple[int, int]]
) -> dict[int, tuple[int, int]]:
    """Minor with hint faults, and major ones, of each thread; what the kernel counted. Where a
    guest's kernel hides a switch, faults until the next one are among the losses, each of them."""
    minor, major = traced.rows("fault", "minor"), traced.rows("fault", "major")
    hint = traced.rows("fault", "numa_hint")
    counted, lost = {}, 0
    for tid, after in load.faults().items():
        counted[tid] = (after[0] - before[tid][0], after[1] - before[tid][1])
        ours = (len(of_tid(minor, tid)) + len(of_tid(hint, tid)), len(of_tid(major, tid)))
        assert ours[0] <= counted[tid][0]
        assert ours[1] <= counted[tid][1]
        lost += sum(counted[tid]) - sum(ours)
    unbalanced = sum(cpu["unbalanced"] for cpu in traced.losses.by_cpu.values())
    assert lost <= unbalanced, traced.losses
    assert not lost or traced.hidden, traced.losses
    return counted


def assert_times_are_possible(traced: Traced, load: Faulting, cpu_ns: dict[int, int]) -> None:
    """What faults ran is CPU time of their thread; sleep is apart from it, inside its fault."""
    after = load.cpu_ns()
    ran = [traced.rows("fault", kind) for kind in ("minor", "major", "numa_hint")]
    slept = traced.rows("fault", "…", "asleep")
    for tid in load.all_tids():
        mine = np.concatenate([of_tid(rows, tid) for rows in ran])
        assert int(mine["net_ns"].sum()) <= after[tid] - cpu_ns[tid]
        assert (mine["net_ns"] > 0).all()
        assert (mine["net_ns"] <= mine["gross_ns"]).all()
        order = np.argsort(mine["start_ns"])
        starts = mine["start_ns"][order]
        ends = starts + mine["gross_ns"][order]
        assert (starts[1:] >= ends[:-1]).all(), "a thread meets one fault at a time"
        assert int(mine["gross_ns"].sum()) <= load.wall_ns
        asleep = of_tid(slept, tid)
        around = order[np.searchsorted(starts, asleep["start_ns"], side="right") - 1]
        whole = mine[around]
        assert (asleep["net_ns"] + whole["net_ns"] <= whole["gross_ns"]).all()
        assert (
            asleep["start_ns"] + asleep["gross_ns"] <= whole["start_ns"] + whole["gross_ns"]
        ).all()
    for counts in traced.losses.by_cpu.values():
        assert counts["negative"] == 0


@pytest.mark.parametrize("threads", [1, 3])
def test_faults_equal_the_kernels(tmp_path: Path, threads: int) -> None:
    with faulting_process(tmp_path / "content", threads) as load:
        before, cpu_ns = load.faults(), load.cpu_ns()
        traced = trace(Target(CPUS, pid=load.pid), load.round, load.round, faults=True)
        counted = assert_counts_equal(traced, load, before)
        assert_times_are_possible(traced, load, cpu_ns)
    assert all(counted[tid][0] >= 2 * FRESH for tid in load.tids)
    assert sum(counted[tid][1] for tid in load.tids) >= READ
    major, asleep = traced.rows("fault", "major"), traced.rows("fault", "major", "asleep")
    assert 0 < len(asleep) <= len(major), "reading a file takes sleep"


def test_faults_beside_others_on_their_cpu(tmp_path: Path) -> None:
    """Preempted in the middle of a fault, on all CPUs: counts and times stay right."""
    acts = ["compete:0:3000"] * (2 * len(CPUS))
    with faulting_process(tmp_path / "content", 2) as load, prepared(-1, -1, *acts) as others:
        before, cpu_ns = load.faults(), load.cpu_ns()
        others.begin()
        traced = trace(Target(CPUS), load.round, load.round, load.round, faults=True)
        assert_counts_equal(traced, load, before)
        assert_times_are_possible(traced, load, cpu_ns)


def test_faults_are_no_noise(tmp_path: Path) -> None:
    """A summary without the faults is the same but for them."""
    with faulting_process(tmp_path / "content") as load:
        traced = trace(Target(CPUS, pid=load.pid), load.round, faults=True)
    faults = traced.table["level"] == SIDE_LEVEL
    assert faults.any()
    summaries = []
    for table in (traced.table, traced.table[~faults]):
        summarizer = Summarizer(CPUS, traced.sources, traced.triggers)
        summarizer.add(table)
        summaries.append(summarizer.summary(0, 1))
    with_faults, without = summaries
    assert with_faults.noise_ns == without.noise_ns
    assert [cpu.sources for cpu in with_faults.cpus] == [cpu.sources for cpu in without.cpus]
    assert [cpu.max_single_ns for cpu in with_faults.cpus] == [
        cpu.max_single_ns for cpu in without.cpus
    ]
    assert (
        sum(one.count for cpu in with_faults.cpus for one in cpu.side.get("fault", ()))
        == faults.sum()
    )


def test_nothing_is_loaded_unless_asked_for(tmp_path: Path) -> None:
    loaded = []

    def look() -> None:
        names = [program["name"] for program in json.loads(bpftool("prog", "list", "-j"))
                 if "name" in program]  # fmt: skip
        assert "thread_switch" in names
        loaded.append({name for name in names if name.startswith("fault_")})

    with faulting_process(tmp_path / "content") as load:
        without = trace(Target(CPUS, pid=load.pid), look, load.round)
        trace(Target(CPUS, pid=load.pid), look, faults=True)
    assert loaded == [set(), {"fault_begin", "fault_minor", "fault_major"}]
    assert not (without.table["level"] == SIDE_LEVEL).any()


@pytest.mark.side_by_side
def test_live_equals_recorded(tmp_path: Path) -> None:
    out = tmp_path / "faults.noisetop"
    work = [sys.executable, "-c", "b = [bytearray(1 << 22) for _ in range(40)]"]
    done = run("top", "--json", "--faults", "-o", out, "--", *work)
    assert done.returncode == 0, done.stderr
    live: dict[tuple[str, ...], list[int]] = {}
    for line in done.stdout.splitlines():
        for cpu in json.loads(line)["cpus"].values():
            for fault in cpu["faults"]:
                total = live.setdefault(tuple(fault["path"]), [0, 0])
                total[0] += fault["count"]
                total[1] += fault["net_ns"]
    report = json.loads(read("report", out, "--json").stdout)
    recorded: dict[tuple[str, ...], list[int]] = {}
    for cpu in report["cpus"].values():
        for fault in cpu["faults"]:
            total = recorded.setdefault(tuple(fault["path"]), [0, 0])
            total[0] += fault["count"]
            total[1] += fault["net_ns"]
    assert live == recorded
    assert recorded["fault", "minor"][0] > 100
    assert "Page faults of the victims" in read("report", out).stdout
