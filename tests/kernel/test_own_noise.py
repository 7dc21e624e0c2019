"""In the steady state a watched CPU gets no interrupt because of us, as the kernel's own trace
tells it."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from noisetop import system
from tests.kernel.loads import stop, workload
from tests.kernel.program import PROGRAM, wait_for
from tests.kernel.sent_interrupts import kernel_trace, sent_by_threads, sent_to

pytestmark = pytest.mark.kernel

SECONDS = 30
CPU = max(system.online_cpus())


def tids_of(pid: int) -> list[int]:
    return [int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()]


@pytest.mark.skipif(CPU == 0, reason="with one CPU there is none to keep house")
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
                time.sleep(SECONDS)
                from_us = sent_by_threads(own, CPU)
                by_bpf = [line for line in sent_to(every, CPU) if "bpf" in line.split("=")[-1]]
                anything = sent_to(every, CPU)
        finally:
            stop(process)
    assert anything, "the trace saw nothing"
    assert from_us == []
    assert by_bpf == []
