"""perf bench sched messaging, which is hackbench: groups of processes that wake one another."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bench.workloads import Place, Work, Workload, on_cpu, output_of

_LOOPS = 500


def parse(text: str, loops: int = _LOOPS) -> Work:
    """``perf bench --format=simple``: seconds for all of it."""
    return Work(loops / float(json.loads(text.strip().splitlines()[-1])))


@contextmanager
def _run(place: Place) -> Iterator[Callable[[], Work]]:
    bench = ["perf", "bench", "--format=simple", "sched", "messaging", "-g", "2", "-l", str(_LOOPS)]
    yield lambda: parse(output_of(on_cpu(place.cpu, bench)))


WORKLOADS = (Workload("hackbench", ("perf", "taskset"), "apt-get install linux-perf", _run),)
