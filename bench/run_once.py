"""A command run to its end: how long it took, how much memory it had at most."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from noisetop.errors import NoisetopError

_TIMEOUT = ("timeout", "120")


@dataclass(frozen=True, slots=True)
class RunOnce:
    """What it took."""

    seconds: float
    peak_bytes: int
    """Largest resident memory of any of its processes."""


def run_once(argv: Sequence[str], output: Path) -> RunOnce:
    """Runs a command with its stdout in a file, on any CPU. Raises NoisetopError when it fails."""
    began = time.monotonic()
    with output.open("wb") as out:
        process = subprocess.Popen(
            ["taskset", "-c", _online(), *_TIMEOUT, *argv],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.PIPE,
        )
        assert process.stderr
        said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stderr.close()
    if process.returncode:
        last = said.decode(errors="replace").strip().splitlines()[-1:] or ["it said nothing"]
        raise NoisetopError(f"{' '.join(argv[:3])} failed: {last[0]}")
    return RunOnce(time.monotonic() - began, usage.ru_maxrss * 1024)


def _online() -> str:
    return Path("/sys/devices/system/cpu/online").read_text().strip()
