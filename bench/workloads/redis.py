"""redis-server under redis-benchmark over loopback: with small requests, which fill the CPU of the
client, and with requests that fill the CPU of the server."""

from __future__ import annotations

import csv
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial

from bench.workloads import Place, Work, Workload, on_cpu, output_of, server

_GET = ("-t", "get", "-n", "50000")
_BITS = ("-n", "30000", "bitcount", "bits")
_LAST_BYTE = 32767
"""Of the string whose bits are counted: some 10 us."""


def parse(text: str) -> Work:
    """``redis-benchmark --csv`` of one test."""
    row = next(csv.DictReader(text.splitlines()))
    return Work(float(row["rps"]), 1_000 * float(row["p99_latency_ms"]))


def _answers(port: str) -> bool:
    ping = ["redis-cli", "-p", port, "ping"]
    return subprocess.run(ping, capture_output=True, check=False).stdout.strip() == b"PONG"


@contextmanager
def running_server(port: str, place: Place) -> Iterator[None]:
    """A server on the CPU of the place that keeps nothing on disk. Raises NoisetopError."""
    options = ["--port", port, "--save", "", "--appendonly", "no", "--dir", str(place.folder)]
    with server(on_cpu(place.cpu, ["redis-server", *options]), lambda: _answers(port)):
        yield


@contextmanager
def _run(port: str, test: Sequence[str], place: Place) -> Iterator[Callable[[], Work]]:
    client = ["redis-benchmark", "-p", port, "-c", "50", "--csv", *test]
    with running_server(port, place):
        output_of(["redis-cli", "-p", port, "setrange", "bits", str(_LAST_BYTE), "x"])
        yield lambda: parse(output_of(on_cpu(place.other, client)))


def _workload(
    name: str, run: Callable[[Place], AbstractContextManager[Callable[[], Work]]]
) -> Workload:
    programs = "redis-server", "redis-benchmark", "redis-cli", "taskset"
    return Workload(name, programs, "apt-get install redis-server redis-tools", run)


GET = _workload("redis GET", partial(_run, "16399", _GET))
WORKLOADS = (
    GET,
    _workload("redis BITCOUNT", partial(_run, "16400", _BITS)),
)
