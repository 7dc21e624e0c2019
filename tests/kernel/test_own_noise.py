"""In the steady state a watched CPU gets no interrupt because of us, as the kernel's own trace
tells it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from noisetop.machine import system
from tests.kernel.loads import stop, workload
from tests.kernel.program import PROGRAM, wait_for
from tests.kernel.sent_interrupts import kernel_trace, sent_by_threads, sent_to

pytestmark = pytest.mark.kernel

VISITS = 100
"""Of the drain thread to the rings: each could interrupt the watched CPU, if any did."""
CPU = max(system.online_cpus())


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


@pytest.mark.skipif(CPU == 0, reason="one CPU leaves no housekeeping CPU")
@pytest.mark.parametrize("verb", ["top", "record"])
def test_no_interrupt_comes_from_us(verb: str, tmp_path: Path) -> None:
    output = ["--json"] if verb == "top" else ["-q", "-o", str(tmp_path / "run.noisetop")]
    with workload("membarrier", CPU, 0, 500), (tmp_path / "out").open("wb") as out:
        process = subprocess.Popen(
            [PROGRAM, verb, "-c", str(CPU), *output], stdout=out, start_new_session=True
        )
        try:
            written = tmp_path / ("out" if verb == "top" else "run.noisetop.partial")
            wait_for(lambda: written.exists() and written.stat().st_size > 2_000, "a sample")
            with kernel_trace("own", tids_of(process.pid)) as own, kernel_trace("all") as every:
                enough = wakeups(process.pid) + VISITS
                wait_for(lambda: wakeups(process.pid) >= enough, "visits to the rings")
                from_us = sent_by_threads(own, CPU)
                by_bpf = [line for line in sent_to(every, CPU) if "bpf" in line.split("=")[-1]]
                anything = sent_to(every, CPU)
        finally:
            stop(process)
    assert anything, "the trace saw nothing"
    assert from_us == []
    assert by_bpf == []
