"""The kernel's own trace of who sends interrupts, in an instance of its tracer."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

TRACING = Path("/sys/kernel/tracing")
EVENTS = ("ipi/ipi_send_cpu", "ipi/ipi_send_cpumask", "csd/csd_queue_cpu")
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
        # Switching the events on patches code, which itself interrupts every CPU.
        (instance / "trace").write_text("")
        yield instance
    finally:
        instance.rmdir()


def sent_to(instance: Path, cpu: int) -> list[str]:
    """Lines of the trace about interrupts for this CPU."""
    lines = (instance / "trace").read_text().splitlines()
    found = ((line, SENT.search(line)) for line in lines)
    return [line for line, match in found if match and int(match[2]) == cpu]


def sent_by_threads(instance: Path, cpu: int) -> list[str]:
    """Lines of the trace about interrupts for this CPU that a thread itself asked for.

    What an interrupt does on top of a thread is not the thread's doing.
    """
    return [line for line in sent_to(instance, cpu) if not IN_INTERRUPT.search(line)]
