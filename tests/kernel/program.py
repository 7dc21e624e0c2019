"""noisetop as its users start it: a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.in_process import PROGRAM as PROGRAM
from tests.in_process import run_in_process

SLOWER = 5 if "NOISETOP_LOAD_SHARE" in os.environ else 1
"""An emulated machine starts programs as much more slowly."""
PATIENCE_S = 30 * SLOWER
OWN_PROGRAM_NAME = "thread_switch"
OWN_MAP_NAME = "noise_records"


def run(*arguments: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    """Runs it to its end."""
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        [PROGRAM, *arguments],
        capture_output=True,
        text=True,
        timeout=60 * SLOWER,
        check=False,
        **options,
    )


def read(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """What a command makes of files, in this process: nothing of it concerns the kernel."""
    done = run_in_process(*arguments)
    assert done.returncode == 0, done.stderr
    return done


@contextlib.contextmanager
def started(*arguments: str | Path, until: str) -> Iterator[subprocess.Popen[str]]:
    """Starts it and waits until a line on stderr holds ``until``."""
    process = subprocess.Popen(
        [PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with ended_at_last(process):
        wait_for_line(process, until)
        yield process


def wait_for_line(process: subprocess.Popen[str], until: str) -> None:
    """Waits until a line on its stderr holds ``until``."""
    assert process.stderr
    line = process.stderr.readline()
    while until not in line:
        assert line, f"it ended with {process.wait()} before it said '{until}'"
        line = process.stderr.readline()


@contextlib.contextmanager
def ended_at_last(process: subprocess.Popen[str]) -> Iterator[None]:
    """A process that does not outlive the block."""
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)
        process.communicate(timeout=PATIENCE_S)


def wait_for(condition: Callable[[], bool], what: str, *, patience_s: float = PATIENCE_S) -> None:
    """Waits until something is so."""
    end = time.monotonic() + patience_s
    asked = time.monotonic()
    while not condition():
        now = time.monotonic()
        assert now < end, f"waited in vain for {what}"
        # Some ask bpftool and all of /proc: what is waited for needs the CPU as well.
        time.sleep(max(0.02, 4 * (now - asked)))
        asked = time.monotonic()


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


def loaded(*arguments: str) -> set[int]:
    """Ids of the programs, or maps, of ours in the kernel, whoever loaded them."""
    every = json.loads(bpftool("-j", *arguments, "list") or "[]")
    return {one["id"] for one in every if one.get("name") in (OWN_PROGRAM_NAME, OWN_MAP_NAME)}


def held(pid: int | str = "[0-9]*", kind: str = "prog") -> set[int]:
    """Ids of the programs, or maps, that a process has descriptors of; default: any process."""
    found = set()
    for path in Path("/proc").glob(f"{pid}/fdinfo/*"):
        with contextlib.suppress(OSError):
            found |= {int(one) for one in re.findall(rf"(?m)^{kind}_id:\s+(\d+)", path.read_text())}
    return found


def own_code(pid: int, name: str) -> str:
    """The code of a program that a process holds as the kernel runs it, without the functions that
    it has out of line."""
    texts = [bpftool("prog", "dump", "xlated", "id", str(number)) for number in held(pid)]
    (text,) = [text for text in texts if text.startswith(f"int {name}(")]
    own, *_others = re.split(r"(?m)^\w.*\):$", text)[1:]
    return own


def is_loaded_by(pid: int) -> bool:
    """Whether a process has a program of ours in the kernel."""
    mine = held(pid)
    return bool(mine and mine & loaded("prog"))


def left_in_kernel() -> bool:
    """Whether a program or a map of ours is loaded that no process holds."""
    return any((ids := loaded(kind)) and ids - held(kind=kind) for kind in ("prog", "map"))
