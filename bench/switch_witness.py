"""What the kernel's own trace tells of when a task got a CPU.

The host of a virtual machine may hide tasks, and their switches, from every tracepoint: then no
tracer can tell of them. ftrace is the witness for that, in an instance of its own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.tracepoints import TRACEFS
from noisetop.errors import NoisetopError

_SWITCH = re.compile(r" \[(\d+)\] .* (\d+)\.(\d{6}): sched_switch: .* next_pid=(\d+) ")
_FEWEST_KIB = 64


@dataclass(frozen=True, slots=True)
class SwitchWitness:
    """Of one task."""

    instance: Path
    tid: int

    def saw(self, cpu: int, start_ns: int, end_ns: int) -> bool:
        """Whether the trace tells that the task got the CPU in that time (CLOCK_MONOTONIC)."""
        # The trace has microseconds, cut off.
        earliest_us, latest_us = start_ns // 1_000 - 1, end_ns // 1_000
        for where, seconds, micros, tid in _SWITCH.findall((self.instance / "trace").read_text()):
            when_us = int(seconds) * 1_000_000 + int(micros)
            told = int(tid) == self.tid and int(where) == cpu
            if told and earliest_us <= when_us <= latest_us:
                return True
        return False


@contextmanager
def witness_of(tid: int) -> Iterator[SwitchWitness]:
    """Watches a task. Raises NoisetopError where ftrace does not work."""
    instance = TRACEFS / "instances" / f"noisetop-witness-{os.getpid()}"
    try:
        instance.mkdir()
    except OSError as error:
        raise NoisetopError(f"no ftrace, mount tracefs on {TRACEFS}: {error}") from error
    try:
        event = instance / "events/sched/sched_switch"
        (instance / "trace_clock").write_text("mono")
        (instance / "buffer_size_kb").write_text(str(_FEWEST_KIB))
        (event / "filter").write_text(f"next_pid == {tid}")
        (event / "enable").write_text("1")
        yield SwitchWitness(instance, tid)
        (event / "enable").write_text("0")
    finally:
        instance.rmdir()
