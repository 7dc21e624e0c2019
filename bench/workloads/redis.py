"""redis-server under redis-benchmark: small requests over loopback."""

from __future__ import annotations

import csv
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bench.workloads import Place, Work, Workload, on_cpu, output_of, server

_PORT = "16399"
_REQUESTS = "200000"


def parse(text: str) -> Work:
    """``redis-benchmark --csv`` of one test."""
    row = next(csv.DictReader(text.splitlines()))
    return Work(float(row["rps"]), 1_000 * float(row["p99_latency_ms"]))


def _answers() -> bool:
    ping = ["redis-cli", "-p", _PORT, "ping"]
    return subprocess.run(ping, capture_output=True, check=False).stdout.strip() == b"PONG"


@contextmanager
def _run(place: Place) -> Iterator[Callable[[], Work]]:
    options = ["--port", _PORT, "--save", "", "--appendonly", "no", "--dir", place.folder]
    client = ["redis-benchmark", "-p", _PORT, "-t", "get", "-n", _REQUESTS, "-c", "50", "--csv"]
    with server(on_cpu(place.cpu, ["redis-server", *options]), _answers):
        yield lambda: parse(output_of(on_cpu(place.other, client)))


WORKLOADS = (
    Workload(
        "redis GET",
        ("redis-server", "redis-benchmark", "redis-cli", "taskset"),
        "apt-get install redis-server redis-tools",
        _run,
    ),
)
