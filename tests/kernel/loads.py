"""Things that make noise: bounded in time, started and stopped by PID."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ends a process and the group that it leads."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    process.wait(timeout=20)
    if process.stdout:
        process.stdout.close()


@contextlib.contextmanager
def stress(*arguments: str) -> Iterator[int]:
    """stress-ng with some stressors; it ends by itself after a minute at the latest."""
    program = shutil.which("stress-ng")
    assert program, "stress-ng is missing: make test installs it"
    process = subprocess.Popen(
        [program, "--timeout", "60", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=tempfile.gettempdir(),
        start_new_session=True,
    )
    try:
        yield process.pid
    finally:
        stop(process)


@functools.cache
def workload_program() -> Path:
    """workload.c, compiled once per test run."""
    folder = Path(tempfile.mkdtemp(prefix="noisetop-tests-"))
    program = folder / "workload"
    source = Path(__file__).with_name("workload.c")
    subprocess.run(["cc", "-O2", "-pthread", "-o", program, source], check=True)
    return program


@contextlib.contextmanager
def workload(kind: str, victim_cpu: int, sender_cpu: int, per_second: int) -> Iterator[int]:
    """A process with a thread that spins and one that makes noise for it; yields its PID."""
    process = subprocess.Popen(
        [workload_program(), kind, str(victim_cpu), str(sender_cpu), str(per_second)],
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        yield process.pid
    finally:
        stop(process)
