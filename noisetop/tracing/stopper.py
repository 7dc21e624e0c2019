"""Waiting for whatever ends a run: a signal, the watched process, a command, the time."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

_LONGEST_POLL_MS = 1 << 30
"""poll(2) takes an int."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(slots=True)
class Stopper:
    """Tells when to stop and why. Use inside ``with catch_signals(stopper)``."""

    duration_ns: int = 0
    """0: no limit."""
    pidfds: list[int] = field(default_factory=list)
    """Processes, or threads, whose end ends the run: that of the last one."""
    process: str = ""
    """What they are called in the message."""
    reason: str = ""
    """Why it ended, in words for the user; empty: as asked."""
    stopped: bool = False
    interrupted: bool = False
    """Whether a signal ended it: the user waits for nothing any more."""
    woken: bool = False
    """Whether wake() ended the last wait."""
    _deadline_ns: int = 0
    _wake: tuple[int, int] = field(default_factory=lambda: os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC))

    def start(self) -> None:
        """The duration begins now."""
        if self.duration_ns:
            self._deadline_ns = time.monotonic_ns() + self.duration_ns

    def stop(self, reason: str = "") -> None:
        """Ends the wait; callable from a signal handler and from any thread."""
        self.stopped = True
        self.reason = self.reason or reason
        self.wake()

    def interrupt(self) -> None:
        """Ends the wait because of a signal; callable from its handler."""
        self.interrupted = True
        self.stop()

    def wake(self) -> None:
        """Ends the wait that is going on without stopping."""
        with contextlib.suppress(BlockingIOError):
            os.write(self._wake[1], b"x")

    def wait_until(self, moment_ns: int) -> bool:
        """Waits until ``moment_ns`` (CLOCK_MONOTONIC) or an end; whether it ended."""
        if self._deadline_ns:
            moment_ns = min(moment_ns, self._deadline_ns)
        self.woken = False
        poll = select.poll()
        poll.register(self._wake[0], select.POLLIN)
        for fd in self.pidfds:
            poll.register(fd, select.POLLIN)
        for fd, _ in [] if self.stopped else _ready(poll, moment_ns):
            if fd == self._wake[0]:
                os.read(fd, 64)
                self.woken = True
            else:
                self._exited(fd)
        if self._deadline_ns and time.monotonic_ns() >= self._deadline_ns:
            self.stopped = True
        return self.stopped

    def _exited(self, pidfd: int) -> None:
        self.pidfds.remove(pidfd)
        os.close(pidfd)
        if not self.pidfds:
            self.stop(f"{self.process} exited")

    def close(self) -> None:
        """Closes the descriptors."""
        for fd in (*self._wake, *self.pidfds):
            os.close(fd)


def _ready(poll: select.poll, moment_ns: int) -> list[tuple[int, int]]:
    """Descriptors and their events; empty when the moment has come."""
    while True:
        left_ms = -(-max(moment_ns - time.monotonic_ns(), 0) // 1_000_000)
        ready = poll.poll(min(left_ms, _LONGEST_POLL_MS))
        if ready or left_ms <= _LONGEST_POLL_MS:
            return ready


@contextlib.contextmanager
def catch_signals(stopper: Stopper) -> Iterator[None]:
    """SIGINT, SIGTERM and SIGHUP stop the run instead of killing the process. An ignored SIGHUP
    stays ignored: under nohup the run goes on when the terminal is closed."""
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    if before[signal.SIGHUP] is signal.SIG_IGN:
        del before[signal.SIGHUP]
    for number in before:
        signal.signal(number, lambda *_: stopper.interrupt())
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
