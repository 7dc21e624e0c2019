"""Things that make noise: bounded in time, started and stopped by PID."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

PATIENCE_S = 50
LIFETIME_S = 240
"""Of a load, whatever becomes of who started it, as in workload.c."""
RESTS = 4_000
"""Microseconds that a victim sleeps between two spells of one millisecond, where it only has to be
there: tests run beside it."""


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ends a process and the group that it leads."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    process.wait(timeout=20)
    for stream in (process.stdin, process.stdout):
        if stream:
            stream.close()


@contextlib.contextmanager
def stress(*arguments: str) -> Iterator[int]:
    """stress-ng with some stressors; it ends by itself after LIFETIME_S at the latest."""
    program = shutil.which("stress-ng")
    assert program, "stress-ng is missing: make test installs it"
    process = subprocess.Popen(
        [program, "--timeout", f"{LIFETIME_S}", *arguments],
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
    """workload.c, compiled once per test run, or before it where there is no compiler."""
    if built := os.environ.get("NOISETOP_WORKLOAD"):
        return Path(built)
    folder = Path(tempfile.mkdtemp(prefix="noisetop-tests-"))
    program = folder / "workload"
    source = Path(__file__).with_name("workload.c")
    subprocess.run(["cc", "-O2", "-pthread", "-o", program, source], check=True)
    return program


@dataclass
class Workload:
    """A process with a thread that suffers, ``victim``, and others that act, named by kind."""

    process: subprocess.Popen[bytes]
    tids: dict[str, int]
    born: list[int] = field(default_factory=list)
    """Threads that came and went, by tid."""

    @property
    def pid(self) -> int:
        return self.process.pid

    def _line(self) -> list[str]:
        assert self.process.stdout
        line = self.process.stdout.readline().decode().split()
        assert line, f"the workload ended with {self.process.wait()}"
        return line

    def meet(self) -> None:
        """Waits until all its threads are there, and sleep."""
        while (line := self._line())[0] != "ready":
            assert line[0] == "thread"
            self.tids[line[1]] = int(line[2])
        self.wait_until_asleep()

    def begin(self) -> None:
        """Lets the threads act."""
        assert self.process.stdin
        self.process.stdin.write(b"go\n")
        self.process.stdin.flush()

    def finish(self) -> None:
        """Waits until every actor has done all its acts, and all threads sleep again."""
        while (line := self._line())[0] != "done":
            assert line[0] == "born"
            self.born.append(int(line[1]))
        self.wait_until_asleep()

    def wait_until_asleep(self) -> None:
        """Waits until all its threads do."""
        end = time.monotonic() + PATIENCE_S
        while not all(_sleeps(tid) for tid in [self.pid, *self.tids.values()]):
            assert time.monotonic() < end, "the workload does not come to rest"
            time.sleep(0.01)

    def run(self) -> None:
        """All of it."""
        self.begin()
        self.finish()


def _sleeps(tid: int) -> bool:
    return Path(f"/proc/{tid}/stat").read_text().rpartition(")")[2].split()[0] == "S"


@contextlib.contextmanager
def parent(victim_cpu: int, sender_cpu: int, *acts: str) -> Iterator[Workload]:
    """A shell that, told to begin, starts a workload; only then there are threads to meet."""
    shell = ["sh", "-c", 'read line; "$@"; :', "sh"]
    with _started(*shell, workload_program(), victim_cpu, sender_cpu, *acts) as load:
        yield load


@contextlib.contextmanager
def prepared(victim_cpu: int, sender_cpu: int, *acts: str, rest_us: int = 0) -> Iterator[Workload]:
    """A workload whose threads sleep until it is told to begin; acts are KIND:PER_SECOND:COUNT.
    With ``rest_us`` the victim leaves its CPU alone that long after each millisecond."""
    victim = f"{victim_cpu}/{rest_us}" if rest_us else f"{victim_cpu}"
    with _started(workload_program(), victim, sender_cpu, *acts) as load:
        load.meet()
        yield load


@contextlib.contextmanager
def _started(*command: str | int | Path) -> Iterator[Workload]:
    process = subprocess.Popen(
        [str(word) for word in command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        yield Workload(process, {})
    finally:
        stop(process)


def remove_group(group: Path) -> None:
    """Removes a control group as soon as its last process is gone."""
    end = time.monotonic() + PATIENCE_S
    while group.exists():
        with contextlib.suppress(OSError):  # busy
            group.rmdir()
        assert time.monotonic() < end, "the control group stays busy"
        time.sleep(0.01)


@contextlib.contextmanager
def workload(
    kind: str, victim_cpu: int, sender_cpu: int, per_second: int, *, rest_us: int = 0
) -> Iterator[int]:
    """A process with a thread that spins and one that makes noise for it; yields its PID."""
    with prepared(victim_cpu, sender_cpu, f"{kind}:{per_second}:0", rest_us=rest_us) as load:
        load.begin()
        yield load.pid
