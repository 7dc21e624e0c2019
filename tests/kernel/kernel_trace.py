"""The kernel's own trace of some tracepoints, in an instance of its own."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

TRACEFS = Path("/sys/kernel/tracing")
_LINE = re.compile(r"-(\d+) +\[(\d+)\] (\S+) +(\d+)\.(\d{6}): (\w+): (.*)")
_CONTEXT = 2
"""Of the flags of a line, where they tell it."""


@dataclass(frozen=True, slots=True)
class Traced:
    """One line of the trace."""

    cpu: int
    time_ns: int
    """CLOCK_MONOTONIC, in whole microseconds."""
    tid: int
    """Of the task that was current."""
    context: str
    """``h``, ``H`` or ``s``: interrupt, the same during a softirq, softirq; ``.`` else."""
    name: str
    text: str
    """Its arguments, ``name=value`` and the like."""

    def value(self, name: str) -> str:
        """One of its arguments."""
        found = re.search(rf"\b{name}=(\S+)", self.text)
        assert found, (name, self.text)
        return found[1]


@dataclass
class KernelTrace:
    """What was traced; complete after the context has ended."""

    events: list[Traced] = field(default_factory=list)


@contextlib.contextmanager
def kernel_trace(*events: str) -> Iterator[KernelTrace]:
    """Traces these events (``subsystem/name``) on all CPUs while the context lasts."""
    instance = TRACEFS / "instances" / f"noisetop-test-{os.getpid()}"
    instance.mkdir()
    trace = KernelTrace()
    try:
        (instance / "trace_clock").write_text("mono")
        (instance / "buffer_size_kb").write_text("8192")
        for event in events:
            (instance / "events" / event / "enable").write_text("1")
        yield trace
        (instance / "tracing_on").write_text("0")
        lines = map(_LINE.search, (instance / "trace").read_text().splitlines())
        trace.events = [_parsed(line) for line in lines if line]
        for entry in (instance / "per_cpu").glob("cpu*/stats"):
            assert "overrun: 0\n" in entry.read_text(), "the kernel's trace lost events"
    finally:
        (instance / "events/enable").write_text("0")
        instance.rmdir()


def _parsed(line: re.Match[str]) -> Traced:
    tid, cpu, flags, seconds, microseconds, name, text = line.groups()
    time_ns = int(seconds) * 10**9 + int(microseconds) * 1000
    return Traced(int(cpu), time_ns, int(tid), flags[_CONTEXT], name, text)
