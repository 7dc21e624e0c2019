"""An exporter that runs, and loads for the CPU that it watches."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from noisetop.errors import NoisetopError
from noisetop.machine.system import online_cpus

PORT = 19977
URL = f"http://127.0.0.1:{PORT}/metrics"

STORM = """
import ctypes, itertools, os, time
prctl = ctypes.CDLL(None).prctl
letters = str.maketrans("0123456789", "abcdefghij")
for number in itertools.count():
    if not os.fork():
        prctl(15, ("s-%d" % number).translate(letters).encode())
        time.sleep(0.002)
        os._exit(0)
    os.wait()
    if os.getppid() == 1:
        break
"""
"""Tasks under ever new names: as many sources, and far more than there are series for."""
TURNS = """
import os
(a, b), (c, d) = os.pipe(), os.pipe()
reads, writes = (a, d) if os.fork() else (c, b)
if reads == a:
    os.write(writes, b".")
while os.getppid() != 1 and os.read(reads, 1):
    os.write(writes, b".")
"""
"""Two tasks that wake each other: as many records as there can be."""
SPIN = """
import os
while os.getppid() != 1:
    for _ in range(1000000):
        pass
"""


def end_cleanly() -> None:
    """SIGTERM ends what was started as well: a load in the background runs for ever otherwise."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))


def watched_and_other() -> tuple[int, int]:
    """The last CPU, and the one for everything else. Raises NoisetopError where there is none."""
    *others, cpu = online_cpus()
    if not others:
        raise NoisetopError("this takes two CPUs: one to watch, and another one")
    return cpu, others[0]


@contextmanager
def load(source: str, cpu: int, *, count: int = 1) -> Iterator[None]:
    """Programs in Python on a CPU, each with its children."""
    command = ["taskset", "-c", str(cpu), sys.executable, "-c", source]
    started = [subprocess.Popen(command, start_new_session=True) for _ in range(count)]
    try:
        yield
    finally:
        for one in started:
            os.killpg(one.pid, signal.SIGKILL)
            one.wait()


@contextmanager
def running_exporter(cpu: int, options: Sequence[str] = ()) -> Iterator[int]:
    """Its PID, once it serves. Raises NoisetopError where it does not start."""
    program = Path(sys.executable).with_name("noisetop")
    command = [program, "exporter", "-c", str(cpu), "--listen", str(PORT), *options]
    exporter = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert exporter.stderr
        for line in exporter.stderr:
            if "metrics:" in line:
                break
        else:
            raise NoisetopError("the exporter did not start: run noisetop exporter to see why")
        yield exporter.pid
    finally:
        exporter.send_signal(signal.SIGTERM)
        exporter.communicate()


def scrape() -> str:
    """The text of all metrics."""
    with urllib.request.urlopen(URL) as answer:
        text: str = answer.read().decode()
        return text


def series_count(text: str) -> int:
    """Series in the text of a scrape."""
    return sum(line[:1] not in ("#", "") for line in text.splitlines())


def lost_records(text: str) -> int:
    """Records that got lost, by the text of a scrape."""
    rows = [line for line in text.splitlines() if line.startswith("noisetop_lost_records_total")]
    return round(sum(float(line.rpartition(" ")[2]) for line in rows))
