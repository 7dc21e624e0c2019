"""In the steady state a watched CPU gets no interrupt because of us, as the kernel's own trace
tells it."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from noisetop import system
from tests.kernel.loads import stop, workload
from tests.kernel.program import PROGRAM, wait_for

pytestmark = pytest.mark.kernel

TRACING = Path("/sys/kernel/tracing")
EVENTS = ("ipi/ipi_send_cpu", "ipi/ipi_send_cpumask", "csd/csd_queue_cpu")
SECONDS = 30
CPU = max(system.online_cpus())
SENT = re.compile(r"(ipi_send_cpu|csd_queue_cpu): cpu=(\d+) .*?(?:callback|func)=(\S+)")
IN_INTERRUPT = re.compile(r"\] \S\S[sShHzZ]")


@contextlib.contextmanager
def kernel_trace(name: str, tids: list[int] | None = None) -> Iterator[Path]:
    """An instance of the kernel's tracer that notes who sends interrupts; of these tids only."""
    if not (TRACING / "events").exists():
        subprocess.run(["mount", "-t", "tracefs", "none", TRACING], check=True)
    instance = TRACING / "instances" / f"noisetop-test-{name}-{os.getpid()}"
    instance.mkdir()
    try:
        if tids is not None:
            (instance / "set_event_pid").write_text(" ".join(map(str, tids)))
        offered = [event for event in EVENTS if (instance / "events" / event).exists()]
        assert offered, "this kernel does not tell who sends interrupts"
        (instance / "buffer_size_kb").write_text("8192")
        for event in offered:
            (instance / "events" / event / "enable").write_text("1")
        yield instance
    finally:
        instance.rmdir()


def sent_to(instance: Path, cpu: int) -> list[str]:
    """Lines of the trace about interrupts for this CPU."""
    lines = (instance / "trace").read_text().splitlines()
    found = ((line, SENT.search(line)) for line in lines)
    return [line for line, match in found if match and int(match[2]) == cpu]


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
                # What an interrupt does on top of one of our threads is not our doing.
                from_us = [line for line in sent_to(own, CPU) if not IN_INTERRUPT.search(line)]
                by_bpf = [line for line in sent_to(every, CPU) if "bpf" in line.split("=")[-1]]
                anything = sent_to(every, CPU)
        finally:
            stop(process)
    assert anything, "the trace saw nothing"
    assert from_us == []
    assert by_bpf == []
