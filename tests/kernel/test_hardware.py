"""The machine's own figures, against its files, and what reading them costs others."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from noisetop.counters.hardware_totals import ROWS
from noisetop.machine import system
from noisetop.machine.smi import MSR_PMU, SmiCounter
from noisetop.text.cpu_list import format_cpu_list
from tests.counters.hardware_period import HardwarePeriod
from tests.kernel import books
from tests.kernel.forked import run
from tests.kernel.left_cpu import leave
from tests.kernel.loads import workload
from tests.kernel.program import read, wait_for
from tests.kernel.sent_interrupts import kernel_trace, sent_by_threads

pytestmark = [pytest.mark.kernel, pytest.mark.side_by_side]

CPUS = system.online_cpus()
WATCHED, HOUSE = CPUS[-1:], CPUS[:1]
needs_two_cpus = pytest.mark.skipif(len(CPUS) < 2, reason="needs a housekeeping CPU")


def stolen_ns() -> dict[int, int]:
    """Steal of each CPU since boot, from the eighth figure of its line in /proc/stat."""
    tick_ns = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    lines = [line.split() for line in Path("/proc/stat").read_text().splitlines()]
    return {
        int(fields[0][3:]): int(fields[8]) * tick_ns
        for fields in lines
        if fields[0].startswith("cpu") and fields[0] != "cpu"
    }


def steal_of(watch: HardwarePeriod) -> dict[int | None, int | None]:
    return {one.cpu: one.ns for one in watch.figures() if one.path == ("hardware", "steal")}


def busy_round() -> None:
    """Work that gives the hypervisor something to take away."""
    threads = [threading.Thread(target=lambda: sum(range(300_000))) for _ in CPUS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_steal_of_a_window_lies_between_the_differences_of_proc_stat() -> None:
    outer = stolen_ns()
    with HardwarePeriod(CPUS, ()) as watch:
        inner = stolen_ns()
        busy_round()
        inner_end = stolen_ns()
        steal = steal_of(watch)
        outer_end = stolen_ns()
    assert set(steal) == set(CPUS)
    for cpu in CPUS:
        assert inner_end[cpu] - inner[cpu] <= (steal[cpu] or 0) <= outer_end[cpu] - outer[cpu]


def test_all_since_boot_is_what_the_kernel_shows(tmp_path: Path) -> None:
    """From zeros to the kernel's own files, so that the figures are the totals."""
    (tmp_path / "proc").mkdir()
    proc_stat, interrupts = tmp_path / "proc/stat", tmp_path / "proc/interrupts"
    kernels = Path("/proc/interrupts").read_text()
    rows = [row for row in ROWS if (row, CPUS[0]) in books.interrupts()]
    zeros = " 0" * len(CPUS)
    head = kernels.splitlines()[0]
    proc_stat.write_text("".join(f"cpu{cpu}{' 0' * 10}\n" for cpu in CPUS))
    interrupts.write_text("\n".join([head, *(f"{row}:{zeros}" for row in rows)]))
    with HardwarePeriod(CPUS, (), tmp_path) as watch:
        for file in (proc_stat, interrupts):
            file.unlink()
            file.symlink_to(f"/proc/{file.name}")
        steal, counted = stolen_ns(), books.interrupts()
        figures = {(one.cpu, one.path[1:]): one for one in watch.figures()}
        steal_end, counted_end = stolen_ns(), books.interrupts()
    assert ("NMI" in rows) or os.uname().machine != "x86_64"
    for cpu in CPUS:
        assert steal[cpu] <= (figures[cpu, ("steal",)].ns or 0) <= steal_end[cpu]
        for row in rows:
            count = figures[cpu, ROWS[row][0]].count or 0
            assert counted[row, cpu] <= count <= counted_end[row, cpu]


@needs_two_cpus
@pytest.mark.skipif(not Path("/", MSR_PMU, "events/tsc").exists(), reason="no PMU msr here")
def test_the_counter_counts_as_long_as_it_is_open() -> None:
    """With the time-stamp counter, the one event of this PMU that every x86 machine moves."""
    with SmiCounter(HOUSE[0], event="tsc") as counter:
        first = counter.read()
        assert first is not None
        wait_for(lambda: (counter.read() or 0) > first, "the counter to move")
        assert "anon_inode:[perf_event]" in open_descriptors()
    assert "anon_inode:[perf_event]" not in open_descriptors()


@needs_two_cpus
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the PMU msr is x86 only")
def test_the_watch_counts_smis_by_the_difference(tmp_path: Path) -> None:
    """With the CPU's software clock (type 1, event 0) in the place of the register."""
    (tmp_path / MSR_PMU / "events").mkdir(parents=True)
    (tmp_path / MSR_PMU / "type").write_text("1\n")
    (tmp_path / MSR_PMU / "events/smi").write_text("event=0x00\n")

    def counted() -> int:
        (smi,) = [one for one in watch.figures() if one.path == ("hardware", "smi")]
        assert smi.cpu is None
        return smi.count or 0

    with HardwarePeriod(WATCHED, HOUSE, tmp_path) as watch:
        wait_for(lambda: counted() > 10_000_000, "the clock to move")
        total = counted()
        watch.begin()
        assert counted() < total


def open_descriptors() -> list[str]:
    links = Path("/proc/self/fd").iterdir()
    return [str(fd.readlink()) for fd in links if fd.is_symlink()]


@needs_two_cpus
@pytest.mark.skipif(not Path("/", MSR_PMU, "events/tsc").exists(), reason="needs the PMU msr")
def test_no_reading_interrupts_a_watched_cpu() -> None:
    allowed = os.sched_getaffinity(0)
    try:
        with workload("timerfd", WATCHED[0], HOUSE[0], 500):
            leave(WATCHED[0], HOUSE)
        with kernel_trace("hardware", [threading.get_native_id()]) as trace:
            with (
                HardwarePeriod(WATCHED, HOUSE) as watch,
                SmiCounter(HOUSE[0], event="tsc") as housekeeping,
            ):
                for _ in range(50):
                    watch.begin()
                    assert watch.figures()
                    assert housekeeping.read()
            ours = sent_by_threads(trace, WATCHED[0])
            with SmiCounter(WATCHED[0], event="tsc") as counter:
                assert counter.read()
            forbidden = sent_by_threads(trace, WATCHED[0])[len(ours) :]
    finally:
        os.sched_setaffinity(0, allowed)
    assert ours == []
    assert any("perf_event_read" in line for line in forbidden), "what must be seen is seen"


def told_figures(summary: dict[str, Any]) -> dict[tuple[str, ...], int]:
    """Amounts by CPU, path and unit, as JSON tells them."""
    hardware = summary["hardware"]
    places = [*hardware["cpus"].items(), ("machine", hardware["machine"])]
    return {
        (cpu, *one["path"], unit): one[unit]
        for cpu, figures in places
        for one in figures
        for unit in ("ns", "count")
        if one[unit] is not None
    }


def test_live_equals_recorded_and_the_kernels(tmp_path: Path) -> None:
    out, steal, nmis = tmp_path / "x.noisetop", stolen_ns(), books.interrupts()
    done = run("top", "--json", "-c", format_cpu_list(CPUS), "-d", "900ms", "-o", out, "0.2")
    assert done.returncode == 0, done.stderr
    steal_end, nmis_end = stolen_ns(), books.interrupts()
    live: dict[tuple[str, ...], int] = {}
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    for line in lines:
        for key, amount in told_figures(line).items():
            live[key] = live.get(key, 0) + amount
    report = json.loads(read("report", out, "--json").stdout)
    assert len(lines) > 2
    assert told_figures(report) == live
    assert report["unavailable_hardware"] == lines[-1]["unavailable_hardware"]
    for cpu in CPUS:
        taken = live[str(cpu), "hardware", "steal", "ns"]
        assert 0 <= taken <= steal_end[cpu] - steal[cpu]
        if ("NMI", cpu) in nmis:
            count = live[str(cpu), "hardware", "nmi", "count"]
            assert 0 <= count <= nmis_end["NMI", cpu] - nmis["NMI", cpu]
