"""noisetop as its users start it: a process of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

PROGRAM = Path(sys.executable).with_name("noisetop")
PATIENCE_S = 30
OWN_PROGRAM_NAME = "thread_switch"
OWN_MAP_NAME = "noise_records"


def run(*arguments: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    """Runs it to its end."""
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        [PROGRAM, *arguments], capture_output=True, text=True, timeout=60, check=False, **options
    )


@contextlib.contextmanager
def started(*arguments: str | Path, until: str) -> Iterator[subprocess.Popen[str]]:
    """Starts it and waits until a line on stderr holds ``until``."""
    process = subprocess.Popen(
        [PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr
        line = process.stderr.readline()
        while until not in line:
            assert line, f"it ended with {process.wait()} before it said '{until}'"
            line = process.stderr.readline()
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)
        process.communicate(timeout=PATIENCE_S)


def wait_for(condition: Callable[[], bool], what: str) -> None:
    """Waits until something is so."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.02)


def bpftool(*arguments: str) -> str:
    """Output of bpftool, which lives where root's PATH may not reach."""
    path = f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin"
    done = subprocess.run(
        ["bpftool", *arguments],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PATH": path},
    )
    return done.stdout


def left_in_kernel() -> bool:
    """Whether a program or a map of ours is loaded."""
    return OWN_PROGRAM_NAME in bpftool("prog", "list") or OWN_MAP_NAME in bpftool("map", "list")
