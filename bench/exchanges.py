"""Drives exchanges.c: a program that has softirqs, or switches, at every system call."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.c_program import Asked, compiled
from bench.victim import PERIODS
from bench.workloads import on_cpu

SOURCE = Path(__file__).with_name("exchanges.c")
KINDS = ("datagram", "pipe")
BLOCKS = 200
"""Of a period: 15 ms for datagrams, 30 for bytes."""
STEADY_PERCENTILE = 10
"""Of the blocks: whoever else runs on that CPU, or its host, only adds."""
_NS = np.dtype("=f8")


@dataclass(slots=True)
class Exchanges:
    """The running program; idle between periods."""

    asked: Asked

    def round_trip_ns(self, kind: str) -> float:
        """How long one of ``KINDS`` takes to come back, in the quietest of some periods. Raises
        NoisetopError when the program has ended."""
        return min(self.period_ns(kind) for _ in range(PERIODS))

    def period_ns(self, kind: str) -> float:
        """The same in one period."""
        self.asked.order(f"{kind} {BLOCKS}")
        answer = self.asked.answer(BLOCKS * _NS.itemsize)
        return float(np.percentile(np.frombuffer(answer, _NS), STEADY_PERCENTILE))


@contextmanager
def running_exchanges(cpu: int, folder: Path) -> Iterator[Exchanges]:
    """Compiles the program into a folder and runs it on a CPU until this is left. Raises
    NoisetopError."""
    binary = compiled(SOURCE, folder, f"exchanges-{cpu}")
    process = subprocess.Popen(
        on_cpu(cpu, [str(binary)]), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        yield Exchanges(Asked(SOURCE.stem, process))
    finally:
        process.kill()
        process.communicate()
