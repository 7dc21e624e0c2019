"""Drives exchanges.c: a program that has softirqs, timers or switches at every system call."""

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
STEADY_PERCENTILE = 10
"""Of blocks: whoever else runs on that CPU, or its host, only adds."""
SINGLE_PERCENTILE = 2
"""Of what the host takes part in, one by one: it is in one of two states, and changes often."""


@dataclass(frozen=True, slots=True)
class Period:
    """What is measured of a kind at a time."""

    blocks: int
    round_trips: int
    """Of a block: shorter than what the host takes at a time."""
    percentile: float
    """Of the blocks."""


PERIODS_OF = {
    "datagram": Period(200, 40, STEADY_PERCENTILE),
    "timer": Period(3000, 1, SINGLE_PERCENTILE),
    "pipe": Period(200, 40, STEADY_PERCENTILE),
}
"""By kind; each some 15 to 40 ms."""
KINDS = tuple(PERIODS_OF)
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
        period = PERIODS_OF[kind]
        self.asked.order(f"{kind} {period.blocks} {period.round_trips}")
        answer = self.asked.answer(period.blocks * _NS.itemsize)
        return float(np.percentile(np.frombuffer(answer, _NS), period.percentile))


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
