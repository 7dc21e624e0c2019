"""A compiler, again and again: page faults, processes, and much CPU time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.workloads import Place, Work, Workload, on_cpu, output_of

_SOURCE = Path(__file__).parents[1] / "victim.c"
_JOBS = 8


@contextmanager
def _run(place: Place) -> Iterator[Callable[[], Work]]:
    command = on_cpu(place.cpu, ["cc", "-O2", "-c", _SOURCE, "-o", place.folder / "victim.o"])

    def measured() -> Work:
        began = time.monotonic()
        for _ in range(_JOBS):
            output_of(command)
        return Work(_JOBS / (time.monotonic() - began))

    yield measured


WORKLOADS = (Workload("compile", ("cc", "taskset"), "apt-get install gcc", _run),)
