"""Drives requests.c: clients of a redis server whose requests vary little."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.c_program import Asked, compiled
from bench.exchanges import STEADY_PERCENTILE
from bench.workloads import Place, on_cpu
from bench.workloads.redis import running_server

SOURCE = Path(__file__).with_name("requests.c")
BLOCKS = 40
"""Of a period: some 40 ms, as requests vary more than exchanges."""
_PORT = "16401"
_NS = np.dtype("=f8")


@dataclass(slots=True)
class Requests:
    """The running clients; idle between periods."""

    asked: Asked

    def period_ns(self) -> float:
        """How long a GET takes, in the quiet blocks of one period. Raises NoisetopError when the
        clients have ended."""
        self.asked.order(f"{BLOCKS}")
        answer = self.asked.answer(BLOCKS * _NS.itemsize)
        return float(np.percentile(np.frombuffer(answer, _NS), STEADY_PERCENTILE))


@contextmanager
def running_requests(place: Place) -> Iterator[Requests]:
    """Runs the server on the CPU of the place and the clients on the other one until this is left.
    Raises NoisetopError."""
    command = on_cpu(place.other, [compiled(SOURCE, place.folder), _PORT])
    with running_server(_PORT, place):
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            yield Requests(Asked(SOURCE.stem, process))
        finally:
            process.kill()
            process.communicate()
