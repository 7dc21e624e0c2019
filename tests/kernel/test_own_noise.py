"""In the steady state a watched CPU gets no interrupt because of us, as the kernel's own trace
tells it."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from noisetop.machine import affinity, system
from tests.kernel.loads import stop, workload
from tests.kernel.program import PROGRAM, wait_for
from tests.kernel.sent_interrupts import kernel_trace, sent_by_threads, sent_to

pytestmark = pytest.mark.kernel

VISITS = 20
"""Of the drain thread to the rings: each could interrupt the watched CPU, if any did."""
CPU = max(system.online_cpus())
HOUSE = affinity.choose((CPU,))


def tids_of(pid: int) -> list[int]:
    return [int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()]


def wakeups(pid: int) -> int:
    """How often the threads of a process slept until now."""
    lines = (
        line
        for task in Path(f"/proc/{pid}/task").iterdir()
        for line in (task / "status").read_text().splitlines()
    )
    return sum(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt"))


@contextlib.contextmanager
def tracing(written: Path, *arguments: str) -> Iterator[int]:
    """noisetop beside a load, once it has written a sample to a file; its PID."""
    with (written.parent / "out").open("ab") as out:
        process = subprocess.Popen(
            [PROGRAM, *arguments, "-c", str(CPU)], stdout=out, start_new_session=True
        )
        try:
            wait_for(lambda: written.exists() and written.stat().st_size > 2_000, "a sample")
            yield process.pid
        finally:
            stop(process)


@pytest.mark.skipif(CPU == 0, reason="one CPU leaves no housekeeping CPU")
def test_no_interrupt_comes_from_us(tmp_path: Path) -> None:
    """Live and while it records, beside each other. Started where they keep house: of a CPU that it
    has left, a process is sent one more flush of what it unmaps: see left_cpu.py."""
    output = tmp_path / "run.noisetop"
    affinity.bind(HOUSE)
    with (
        workload("membarrier", CPU, 0, 500),
        tracing(tmp_path / "out", "top", "--json", "0.25") as live,
        tracing(tmp_path / "run.noisetop.partial", "record", "-q", "-o", str(output)) as recorded,
    ):
        both = live, recorded
        tids = [tid for pid in both for tid in tids_of(pid)]
        with kernel_trace("own", tids) as own, kernel_trace("all") as every:
            enough = {pid: wakeups(pid) + VISITS for pid in both}
            wait_for(
                lambda: all(wakeups(pid) >= enough[pid] for pid in both), "visits to the rings"
            )
            from_us = sent_by_threads(own, CPU)
            by_bpf = [line for line in sent_to(every, CPU) if "bpf" in line.split("=")[-1]]
            anything = sent_to(every, CPU)
    assert anything, "the trace saw nothing"
    assert from_us == []
    assert by_bpf == []
