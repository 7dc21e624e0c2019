"""Drives victim.c: a thread that spins on the watched CPU and reports its gaps."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.c_program import Asked, compiled
from noisetop.errors import NoisetopError

SOURCE = Path(__file__).with_name("victim.c")
_TRIES = 10
PERIODS = 4
"""Of a load in a turn: what else the machine and its host do only adds, so the quietest counts."""
_ANSWER = np.dtype(
    [(name, "=u8") for name in ("gaps", "all_gaps", "sent", "hit_in_all", "spun_ns")]
)


@dataclass(frozen=True, slots=True)
class Load:
    """What the victim is disturbed with while it spins."""

    name: str
    kind: str
    """``quiet``, ``ipi`` from the other CPU, or ``timer`` on its own."""
    per_second: int
    milliseconds: int
    lines: int = 0
    """Cache lines walked per look at the counter; above 0 the caches are cold for the tracer."""


@dataclass(frozen=True, slots=True)
class Spin:
    """What the victim saw in one period."""

    gaps_ns: NDArray[np.uint32]
    """Gaps that a disturbance hit; all that are longer than 2 µs under a quiet load."""
    all_gaps: int
    """Gaps longer than 2 µs, whatever made them."""
    sent: int
    """Disturbances in the period; 0 for a quiet load."""
    hit_in_all: int
    """Disturbances that hit the victim, its warm-up included."""
    spun_ns: int
    calls_ns: NDArray[np.uint32]
    """Of each gap the call that sent its IPI, from the sender's side; 0 for other loads."""

    def steady_ns(self, percentile: float) -> float:
        """A percentile of the gaps. Raises NoisetopError when there was none."""
        if not len(self.gaps_ns):
            raise NoisetopError("the victim saw no interruption: is the other CPU overloaded?")
        return float(np.percentile(self.gaps_ns, percentile))


@dataclass(slots=True)
class Victim:
    """The running victim; idle between spins."""

    asked: Asked

    def spin(self, load: Load) -> Spin:
        """Lets it spin under a load, again where the disturber did not get the other CPU at all.

        Raises NoisetopError when it has ended.
        """
        for _ in range(_TRIES):
            spin = self._spin(load)
            if len(spin.gaps_ns) or load.kind == "quiet":
                break
        return spin

    def spins(self, load: Load) -> list[Spin]:
        """The periods of one turn."""
        return [self.spin(load) for _ in range(PERIODS)]

    def _spin(self, load: Load) -> Spin:
        self.asked.order(f"{load.kind} {load.per_second} {load.milliseconds} {load.lines}")
        answer = np.frombuffer(self.asked.answer(_ANSWER.itemsize), _ANSWER)[0]
        gaps = np.frombuffer(self.asked.answer(4 * int(answer["gaps"])), "=u4")
        counts = {name: int(answer[name]) for name in ("all_gaps", "sent", "hit_in_all", "spun_ns")}
        calls = np.frombuffer(self.asked.answer(4 * int(answer["gaps"])), "=u4")
        return Spin(gaps, calls_ns=calls, **counts)


def quietest_ns(spins: Sequence[Spin], percentile: float) -> float:
    """A percentile of the gaps in the period where it is the smallest.

    Raises NoisetopError when there was a period without a gap.
    """
    return min(spin.steady_ns(percentile) for spin in spins)


@contextmanager
def running_victim(
    cpu: int, disturber_cpu: int, folder: Path, sleeping_threads: int = 0
) -> Iterator[Victim]:
    """Compiles the victim into a folder and runs it until this is left.

    ``sleeping_threads``: that many more in its process, which do nothing.
    """
    binary = compiled(SOURCE, folder, f"victim-{sleeping_threads}")
    process = subprocess.Popen(
        [str(binary), str(cpu), str(disturber_cpu), str(sleeping_threads)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        yield Victim(Asked(SOURCE.stem, process))
    finally:
        assert process.stdin
        process.stdin.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
