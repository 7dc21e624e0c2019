"""Runs a tool for a bounded time, waits until it is ready, stops it by its PID."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from noisetop.errors import NoisetopError

READY_TIMEOUT_S = 30
LIFETIME_S = 120
_STOP_TIMEOUT_S = 30
_POLL_S = 0.02


@dataclass(slots=True)
class ToolProcess:
    """A tool that runs under coreutils' timeout, with its output in files."""

    argv: list[str]
    process: subprocess.Popen[bytes]
    stdout: Path
    stderr: Path

    def said(self) -> str:
        """All that it wrote so far, stdout first."""
        return self.stdout.read_text(errors="replace") + self.stderr.read_text(errors="replace")

    def wait_until(self, ready: Callable[[], bool]) -> None:
        """Waits until the tool traces. Raises NoisetopError when it ends or takes too long."""
        deadline = time.monotonic() + READY_TIMEOUT_S
        while not ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                last = self.said().strip().splitlines()[-1:] or ["it said nothing"]
                raise NoisetopError(f"{' '.join(self.argv[:2])} did not start: {last[0]}")
            time.sleep(_POLL_S)

    def stop(self) -> None:
        """Interrupts it and waits; kills it when it does not end."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            # timeout(1) leads the group that the tool and its children are in.
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            raise NoisetopError(f"{self.argv[0]} did not stop when interrupted") from None

    def tool_pid(self) -> int:
        """PID of the tool itself, below timeout(1)."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return int(children.read_text().split()[0])


def cpu_s(folder: Path) -> float:
    """CPU time of a process or a thread so far, by its folder in /proc."""
    fields = (folder / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rss_kib(pid: int) -> int:
    """Resident memory of a process."""
    return int(re.findall(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[0])


def wait_until_said(process: subprocess.Popen[str], word: str) -> None:
    """Waits for a line on its stderr that has the word. Raises NoisetopError where it ends."""
    assert process.stderr
    said = ""
    while word not in (line := process.stderr.readline()):
        said += line
        if not line:
            raise NoisetopError(f"noisetop did not start: {said.strip()}")


@contextmanager
def running(argv: Sequence[str], cpu: int, folder: Path, name: str) -> Iterator[ToolProcess]:
    """Starts a tool that may run on ``cpu`` only; it has ended when this is left."""
    stdout, stderr = folder / f"{name}.stdout", folder / f"{name}.stderr"
    bounded = ["timeout", "--signal=INT", "--kill-after=5", str(LIFETIME_S), *argv]
    with stdout.open("wb") as out, stderr.open("wb") as err:
        process = subprocess.Popen(
            ["taskset", "-c", str(cpu), *bounded],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
        )
    tool = ToolProcess(list(argv), process, stdout, stderr)
    try:
        yield tool
    finally:
        tool.stop()


def write_gate(folder: Path) -> tuple[Path, Path]:
    """A script for tools that start a command once they trace, and the file that it creates."""
    script, opened = folder / "gate.sh", folder / "gate.open"
    opened.unlink(missing_ok=True)
    script.write_text(f": > {opened}\nexec sleep {LIFETIME_S}\n")
    return script, opened
