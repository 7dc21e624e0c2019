"""Other subscribers of the traced tracepoints are told, whoever they are."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from noisetop.machine.files import Files
from noisetop.machine.program_runs import ProgramRuns, mean_since, runs_of
from noisetop.machine.tracepoint_users import TracepointUser
from noisetop.tracing.target import Target
from noisetop.tracing.tracer import Tracer
from tests.kernel.forked import run, started
from tests.kernel.kernel_trace import TRACEFS
from tests.kernel.loads import workload
from tests.kernel.own_cpu import OTHER, OWN
from tests.kernel.program import PATIENCE_S, bpftool, read, wait_for

pytestmark = [pytest.mark.kernel, pytest.mark.side_by_side]

CPU = OWN
TRACED = ("raw_tracepoint", "tracing")


def told() -> dict[tuple[str, str], TracepointUser]:
    """By kind and process or instance; beside whatever else runs on this machine."""
    with Tracer(Target((CPU,)), samples_cost=False) as tracer:
        users = tracer.other_listeners.users
    return {(user.kind, user.name if not user.pid else str(user.pid)): user for user in users}


@contextmanager
def instance(*events: str) -> Iterator[str]:
    """An instance of ftrace with some events."""
    folder = TRACEFS / "instances" / f"noisetop-listener-{os.getpid()}"
    folder.mkdir()
    try:
        for event in events:
            (folder / "events" / event / "enable").write_text("1")
        yield folder.name
    finally:
        (folder / "events/enable").write_text("0")
        folder.rmdir()


@contextmanager
def another_noisetop(folder: Path) -> Iterator[int]:
    """A second one, while it records."""
    output = folder / "other.noisetop"
    with started("record", "-c", str(CPU), "-o", output, until="recording CPU") as process:
        yield process.pid


@contextmanager
def perf(event: str, folder: Path) -> Iterator[int]:
    """perf record, once its events are open: then it lets its command run."""
    command = ["perf", "record", "-q", "-o", str(folder / "perf.data"), "-C", str(CPU), "-e", event]
    process = subprocess.Popen([*command, "cat"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + PATIENCE_S
        while not any(
            (Path("/proc") / pid / "comm").read_text() == "cat\n" for pid in children(process)
        ):
            assert time.monotonic() < end
            assert process.poll() is None
            time.sleep(0.05)
        yield process.pid
    finally:
        process.communicate(timeout=PATIENCE_S)


def children(process: subprocess.Popen[bytes]) -> list[str]:
    return Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()


def test_this_process_is_no_other() -> None:
    with Tracer(Target((CPU,)), samples_cost=False):
        assert ("bpf", str(os.getpid())) not in told()


@pytest.mark.skipif(not TRACEFS.joinpath("instances").exists(), reason="needs tracefs")
def test_ftrace_is_told_while_it_listens() -> None:
    with instance("irq/softirq_entry", "syscalls") as name:
        mine = told()["ftrace", name]
    assert "softirq_entry" in mine.tracepoints
    assert not any(one.startswith("sys_") for one in mine.tracepoints)
    assert ("ftrace", name) not in told()


def test_another_noisetop_is_told(tmp_path: Path) -> None:
    with another_noisetop(tmp_path) as pid:
        mine = told()["bpf", str(pid)]
    assert {"softirq_entry", "sched_switch"} <= set(mine.tracepoints)
    assert ("bpf", str(pid)) not in told()


@pytest.mark.skipif(not shutil.which("perf"), reason="needs perf")
@pytest.mark.parametrize(("event", "listens"), [("irq:softirq_raise", True), ("dummy", False)])
def test_perf_is_told_where_it_traces(event: str, listens: bool, tmp_path: Path) -> None:
    with perf(event, tmp_path) as pid:
        assert (("perf", str(pid)) in told()) is listens


def test_it_is_in_all_places(tmp_path: Path) -> None:
    """On the screen, in the report and in JSON."""
    output = tmp_path / "one.noisetop"
    with another_noisetop(tmp_path) as pid:
        done = run("record", "-c", str(CPU), "-d", "300ms", "-o", output)
    assert done.returncode == 0, done.stderr
    (line,) = [one for one in done.stderr.splitlines() if one.startswith("noisetop: tracepoints:")]
    found = json.loads(read("report", output, "--json").stdout)["other_listeners"]["found"]
    assert [one["kind"] for one in found if one["pid"] == pid] == ["bpf"]
    assert f" {pid} " in " ".join(read("report", output).stdout.split()) or len(found) > 3
    assert "indirect" in line


def booked(pid: int) -> ProgramRuns:
    """The same from bpftool, which asks the kernel for each program."""
    told = " ".join(path.read_text() for path in Path(f"/proc/{pid}/fdinfo").iterdir())
    held = set(map(int, re.findall(r"prog_id:\s+(\d+)", told)))
    programs = json.loads(bpftool("prog", "show", "--json"))
    traced = [one for one in programs if one["id"] in held and one["type"] in TRACED]
    runs = [(one.get("run_cnt", 0), one.get("run_time_ns", 0)) for one in traced]
    return ProgramRuns(sum(count for count, _ in runs), sum(ns for _, ns in runs))


def test_what_their_programs_take_is_what_the_kernel_booked(tmp_path: Path) -> None:
    with (
        another_noisetop(tmp_path) as pid,
        workload("membarrier", CPU, OTHER, 2_000),
        Tracer(Target((CPU,))) as tracer,
    ):
        told = tracer.other_listeners.run_ns[pid]
        before = runs_of([pid], Files())
        with tracer.statistics():
            wait_for(lambda: pid in mean_since(before, 500, Files()), "500 runs")
        # Nothing is counted any more, unless a test beside this one has the kernel do so.
        first, booked_by_kernel = runs_of([pid], Files())[pid], booked(pid)
        last = runs_of([pid], Files())[pid]
        assert first.runs <= booked_by_kernel.runs <= last.runs
        assert first.total_ns <= booked_by_kernel.total_ns <= last.total_ns
        counted = mean_since(before, 500, Files())[pid]
    assert 0.5 < counted / told < 2
