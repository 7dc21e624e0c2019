"""Drives exchanges.c: a program that has softirqs, or switches, at every system call."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.victim import PERIODS
from bench.workloads import on_cpu
from noisetop.errors import NoisetopError

SOURCE = Path(__file__).with_name("exchanges.c")
KINDS = ("datagram", "pipe")
BLOCKS = 300
"""Of a period: some 40 ms."""
STEADY_PERCENTILE = 10
"""Of the blocks: whoever else runs on that CPU, or its host, only adds."""
_NS = np.dtype("=f8")


@dataclass(slots=True)
class Exchanges:
    """The running program; idle between periods."""

    process: subprocess.Popen[bytes]

    def round_trip_ns(self, kind: str) -> float:
        """How long one of ``KINDS`` takes to come back, in the quietest of some periods. Raises
        NoisetopError when the program has ended."""
        return min(self._period_ns(kind) for _ in range(PERIODS))

    def _period_ns(self, kind: str) -> float:
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin
        assert stdout
        try:
            stdin.write(f"{kind} {BLOCKS}\n".encode())
            stdin.flush()
        except BrokenPipeError:
            raise NoisetopError("the exchanges ended early: see their message above") from None
        answer = stdout.read(BLOCKS * _NS.itemsize)
        if len(answer) != BLOCKS * _NS.itemsize:
            raise NoisetopError("the exchanges ended early: see their message above")
        return float(np.percentile(np.frombuffer(answer, _NS), STEADY_PERCENTILE))


@contextmanager
def running_exchanges(cpu: int, folder: Path) -> Iterator[Exchanges]:
    """Compiles the program into a folder and runs it on a CPU until this is left. Raises
    NoisetopError."""
    binary = folder / f"exchanges-{cpu}"
    command = ["cc", "-O2", "-pthread", "-o", str(binary), str(SOURCE)]
    try:
        subprocess.run(command, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        raise NoisetopError(f"cannot compile {SOURCE.name}, is cc there? {error}") from error
    process = subprocess.Popen(
        on_cpu(cpu, [str(binary)]), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        yield Exchanges(process)
    finally:
        process.kill()
        process.communicate()
