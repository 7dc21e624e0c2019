"""Entries into the kernel on a core of nohz_full=: around what interrupts, and nothing twice."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from noisetop.columns.entries import entry_rows
from noisetop.events.interruption import SIDE_LEVEL, Interruptions
from noisetop.machine import system
from noisetop.recording.open import open_recording
from noisetop.summary.recorded import summary_of
from noisetop.tracing.target import Target
from tests.guests.catalogue import KERNELS
from tests.kernel.loads import prepared
from tests.kernel.program import run
from tests.kernel.test_faults import faulting_process
from tests.kernel.tracepoint_counter import count, tracepoint_counter
from tests.kernel.tracing import Traced, trace

pytestmark = pytest.mark.kernel

KERNEL = next(kernel for kernel in KERNELS if kernel.name == os.environ["NOISETOP_KERNEL"])
CPU = max(system.isolated_cpus())
HOUSE = min(system.online_cpus())
SENT, ENOUGH = 100, 90
"""Two that come at one moment share an entry, and one that ends in a switch has none."""
FRESH = 1_000
EVENTS = ("context_tracking/user_exit", "raw_syscalls/sys_enter", "sched/sched_switch")
TRAPS = """
import ctypes, mmap, signal
signal.signal(signal.SIGTRAP, lambda *_: None)
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes([0xCC, 0xC3]))
trap = ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
print("ready", flush=True)
input()
for _ in range({count}):
    trap()
"""
"""int3 and ret."""
TELLS_CALLS = "csd_function" not in KERNEL.lacks


@dataclass
class Watched:
    """A victim that spins on the core while others send it interrupts."""

    traced: Traced
    victim: int
    hits: dict[str, int]
    """Of the kernel's tracepoints on the core, meanwhile."""

    def rows(self, kind: str = "") -> Interruptions:
        """Entries, all or of one kind."""
        wanted = [
            number
            for number, source in enumerate(self.traced.sources)
            if source.path[0] == "entry" and kind in ("", source.path[1])
        ]
        found: Interruptions = self.traced.table[np.isin(self.traced.table["source"], wanted)]
        return found


if not KERNEL.stops_ticks:

    def test_a_kernel_without_them_says_so(tmp_path: Path) -> None:
        done = run("record", "--entries", "-d", "100ms", "-o", tmp_path / "x.noisetop")
        assert done.returncode == 2
        assert "--entries takes a CPU of nohz_full=" in done.stderr

else:

    @pytest.fixture(scope="module")
    def watched() -> Watched:
        seen: list[list[int]] = []
        with contextlib.ExitStack() as stack:
            counters = [
                stack.enter_context(tracepoint_counter(event, "common_pid >= 0", CPU))
                for event in EVENTS
            ]

            def read() -> None:
                seen.append([count(counter) for counter in counters])

            load = stack.enter_context(prepared(CPU, HOUSE, f"membarrier:50:{SENT}"))
            traced = trace(Target((CPU,), pid=load.pid), read, load.run, read, entries=True)
            hits = {
                event: after - before for event, before, after in zip(EVENTS, *seen, strict=True)
            }
            return Watched(traced, load.tids["victim"], hits)

    def test_every_entry_is_a_row_a_system_call_or_a_switch(watched: Watched) -> None:
        entered, calls, switches = (watched.hits[event] for event in EVENTS)
        found = len(watched.rows())
        assert found >= ENOUGH
        assert entered - calls - 2 * switches <= found <= entered, watched.hits

    def test_what_interrupts_lies_inside_an_entry(watched: Watched) -> None:
        """But for what led to a switch, as an entry ends there for us."""
        table, entries = watched.traced.table, watched.rows("interruption")
        inner = table[(table["level"] != SIDE_LEVEL) & (table["tid"] == watched.victim)]
        if TELLS_CALLS:
            assert len(watched.traced.rows("ipi", "…", "ipi_mb")) >= ENOUGH
        inside = np.array([len(around(entries, row)) for row in inner])
        assert inside.max() == 1
        outside = inner[inside == 0]
        switches = watched.hits["sched/sched_switch"]
        assert len(outside) <= 8 * switches + len(inner) // 100, watched.hits

    def test_an_entrys_net_time_is_what_the_noise_in_it_leaves(watched: Watched) -> None:
        table = watched.traced.table
        inner = table[table["level"] != SIDE_LEVEL]
        losses = watched.traced.losses
        # An interrupt that hits the program which it interrupted, as one that sends an interrupt
        # while its CPU does: seen in emulation, where programs take long, 10 times at most. No
        # frame is torn by it, as the other losses show.
        assert losses.recursion_misses <= len(table) / 20
        assert not replace(losses, recursion_misses=0).total
        for entry in watched.rows():
            nested = inner[[bool(around(np.array([entry]), row)) for row in inner]]
            assert entry["net_ns"] == entry["gross_ns"] - nested["net_ns"].sum()
        assert watched.rows("interruption")["net_ns"].min() > 0

    def around(entries: Interruptions, row: np.void) -> list[int]:
        """The entries that lie around an interruption."""
        ends = entries["start_ns"] + entries["gross_ns"]
        end = row["start_ns"] + row["gross_ns"]
        found: list[int] = np.flatnonzero(
            (entries["start_ns"] <= row["start_ns"]) & (end <= ends)
        ).tolist()
        return found

    def test_page_faults_are_entries_of_their_own(tmp_path: Path) -> None:
        with faulting_process(tmp_path / "pages", fresh=FRESH) as load:
            for tid in load.all_tids():
                os.sched_setaffinity(tid, {CPU})
            before = load.faults()
            traced = trace(Target((CPU,), pid=load.pid), load.round, entries=True)
            after = load.faults()
        met = sum(sum(after[tid]) - sum(before[tid]) for tid in before)
        rows = traced.rows("entry", "page_fault")
        assert not replace(traced.losses, recursion_misses=0).total
        assert FRESH - traced.losses.recursion_misses <= len(rows) <= met
        assert (rows["net_ns"] <= rows["gross_ns"]).all()

    def test_an_exception_without_a_tracepoint_shows_as_something_unseen() -> None:
        """A breakpoint of the program's own, with a handler for its signal."""
        program = [sys.executable, "-c", TRAPS.format(count=SENT)]
        with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as load:
            assert load.stdin
            assert load.stdout
            assert load.stdout.readline() == b"ready\n"
            os.sched_setaffinity(load.pid, {CPU})
            traced = trace(
                Target((CPU,), pid=load.pid),
                lambda: load.communicate(b"go\n") and None,
                entries=True,
            )
        assert load.returncode == 0
        assert SENT * 0.9 <= len(traced.rows("entry", "other")) <= SENT * 1.1

    def test_they_are_shown_and_are_no_noise(tmp_path: Path) -> None:
        file = tmp_path / "x.noisetop"
        with prepared(CPU, HOUSE, "membarrier:50:0") as load:
            load.begin()
            run("record", "--entries", "-c", str(CPU), "-d", "500ms", "-o", file)
        summary = summary_of(open_recording(file))
        [period] = summary.cpus
        assert "around noise" in {row.label for row in entry_rows(summary, period)}
        assert period.noise_ns == sum(one.net_ns for one in period.sources)
