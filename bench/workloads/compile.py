"""A compiler, again and again: page faults, processes, and much CPU time. Little more than the tick
interrupts it; so it runs once more beside a program that sleeps for a millisecond at a time."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.workloads import Place, Work, Workload, on_cpu, output_of

INTERRUPTED = "compile, 2k interruptions/s"
_SOURCE = Path(__file__).parents[1] / "victim.c"
_JOBS = 4
_SLEEPER = "import time\nwhile True: time.sleep(0.001)"
"""A timer and a switch of threads each time: with the tick some 2,000 interruptions a second."""


@contextmanager
def _run(place: Place) -> Iterator[Callable[[], Work]]:
    command = on_cpu(place.cpu, ["cc", "-O2", "-c", _SOURCE, "-o", place.folder / "victim.o"])

    def measured() -> Work:
        began = time.monotonic()
        for _ in range(_JOBS):
            output_of(command)
        return Work(_JOBS / (time.monotonic() - began))

    yield measured


@contextmanager
def _run_interrupted(place: Place) -> Iterator[Callable[[], Work]]:
    sleeper = on_cpu(place.cpu, [sys.executable, "-c", _SLEEPER])
    with _run(place) as alone, subprocess.Popen(sleeper) as process:

        def measured() -> Work:
            process.send_signal(signal.SIGCONT)
            try:
                return alone()
            finally:
                process.send_signal(signal.SIGSTOP)

        try:
            process.send_signal(signal.SIGSTOP)
            yield measured
        finally:
            process.kill()


WORKLOADS = (
    Workload("compile", ("cc", "taskset"), "apt-get install gcc", _run),
    Workload(INTERRUPTED, ("cc", "taskset"), "apt-get install gcc", _run_interrupted),
)
