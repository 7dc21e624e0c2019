"""A program on a pseudo-terminal, and what it costs: CPU time, wake-ups, memory, output."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from noisetop.errors import NoisetopError

COLUMNS, LINES = 200, 50
_LIFETIME_S = 180
_END_S = 5


@dataclass(frozen=True, slots=True)
class Used:
    """What a process has used up to a moment."""

    time_ns: int
    cpu_ns: int
    switches: int
    """Voluntary ones of all its threads: each is followed by a wake-up."""
    written_bytes: int


@dataclass(slots=True)
class TerminalProgram:
    """A program that draws on a terminal of ours."""

    pid: int
    terminal: int
    began_ns: int
    written_bytes: int = 0
    first_frame_ns: int | None = None
    _seen: bytes = field(default=b"")

    def take(self, wanted: bytes) -> None:
        """Takes what it wrote and notes when ``wanted`` first came, on a frame that it drew."""
        text = os.read(self.terminal, 1 << 16)
        self.written_bytes += len(text)
        if self.first_frame_ns is None:
            self._seen = self._seen[-len(wanted) :] + text
            if wanted in self._seen:
                self.first_frame_ns = time.monotonic_ns() - self.began_ns

    def press(self, keys: bytes) -> None:
        """Types on its terminal."""
        os.write(self.terminal, keys)

    def used(self) -> Used:
        """Now. Raises NoisetopError when it has ended."""
        cpu_ns = switches = 0
        try:
            for task in Path(f"/proc/{self.pid}/task").iterdir():
                cpu_ns += int((task / "schedstat").read_text().split()[0])
                lines = (task / "status").read_text().splitlines()
                switches += sum(
                    int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt")
                )
        except OSError:
            raise NoisetopError("the dashboard ended early: try it without the bench") from None
        return Used(time.monotonic_ns(), cpu_ns, switches, self.written_bytes)

    def peak_bytes(self) -> int:
        """Largest resident memory so far."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024


@contextmanager
def on_terminal(argv: Sequence[str], cpu: int) -> Iterator[TerminalProgram]:
    """Starts a program on a terminal of its own, bound to a CPU; it has ended when this is left."""
    began_ns = time.monotonic_ns()
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm-256color", COLORTERM="truecolor")
        os.sched_setaffinity(0, {cpu})
        signal.alarm(_LIFETIME_S)
        os.execvp(argv[0], list(argv))
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    try:
        yield TerminalProgram(pid, terminal, began_ns)
    finally:
        os.kill(pid, signal.SIGTERM)
        _wait_for_end(pid, terminal)
        os.close(terminal)


def _wait_for_end(pid: int, terminal: int) -> None:
    """Takes what it still writes; kills it when it does not end."""
    deadline = time.monotonic() + _END_S
    while not os.waitpid(pid, os.WNOHANG)[0]:
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
            deadline = float("inf")
        if select.select([terminal], [], [], 0.05)[0]:
            try:
                os.read(terminal, 1 << 16)
            except OSError:  # it has closed its end
                time.sleep(0.01)


def take_for(programs: Sequence[TerminalProgram], seconds: float, wanted: bytes) -> None:
    """Takes what programs write for a while."""
    by_terminal = {program.terminal: program for program in programs}
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        for terminal in select.select(list(by_terminal), [], [], left)[0]:
            by_terminal[terminal].take(wanted)
