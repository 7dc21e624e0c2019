"""PostgreSQL under pgbench: a row by its key in each transaction."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from bench.workloads import Place, Work, Workload, on_cpu, output_of, server

_USER = "postgres"
"""The server refuses to run as root."""
_PORT = "16398"
_CLIENTS, _TRANSACTIONS = 4, 1_500
_DEBIAN = "/usr/lib/postgresql"
"""Its programs lie there by version, and a few of them in PATH as well."""


def _program(name: str) -> str:
    versions = Path(_DEBIAN).glob(f"*/bin/{name}")
    newest = sorted(versions, key=lambda path: float(path.parents[1].name))[-1:]
    return str(newest[0]) if newest else name


def parse(text: str, log: str) -> Work:
    """What ``pgbench`` prints, and its log, where the third column is the time of a transaction in
    µs."""
    rate = re.search(r"(?m)^tps = ([\d.]+)", text)
    if rate is None:
        raise ValueError("pgbench told no rate")
    took_us = [float(line.split()[2]) for line in log.splitlines()]
    return Work(float(rate[1]), float(np.percentile(took_us, 99)))


def _as_user(argv: Sequence[str | Path]) -> list[str]:
    user = ["setpriv", f"--reuid={_USER}", f"--regid={_USER}", "--clear-groups"]
    return [*user, *map(str, argv)]


def _answers() -> bool:
    ready = [_program("pg_isready"), "-q", "-h", "127.0.0.1", "-p", _PORT]
    return subprocess.run(ready, check=False).returncode == 0


@contextmanager
def _run(place: Place) -> Iterator[Callable[[], Work]]:
    with tempfile.TemporaryDirectory() as name:  # the folder of the bench is root's alone
        shutil.chown(name, _USER)
        data, log = Path(name) / "data", Path(name) / "log"
        made = ["-D", data, "-U", _USER, "-A", "trust", "--no-sync"]
        output_of(_as_user([_program("initdb"), *made]))
        options = ["-D", data, "-p", _PORT, "-k", name, "-h", "127.0.0.1", "-F"]
        running = on_cpu(place.cpu, _as_user([_program("postgres"), *options]))
        client = [_program("pgbench"), "-h", "127.0.0.1", "-p", _PORT, "-U", _USER, "-n"]
        read = ["-S", "-c", str(_CLIENTS), "-t", str(_TRANSACTIONS), "-l", f"--log-prefix={log}"]

        def measured() -> Work:
            told = output_of(on_cpu(place.other, [*client, *read, _USER]))
            (written,) = Path(name).glob("log.*")
            transactions = written.read_text()
            written.unlink()
            return parse(told, transactions)

        with server(running, _answers):
            output_of([*client, "-i", "-q", _USER])
            yield measured


WORKLOADS = (
    Workload(
        "postgres",
        (*map(_program, ("initdb", "postgres", "pgbench", "pg_isready")), "setpriv", "taskset"),
        "apt-get install postgresql",
        _run,
    ),
)
