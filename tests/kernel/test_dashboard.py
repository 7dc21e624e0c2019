"""The dashboard in a terminal of its own: it ends cleanly however it ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import pytest

from tests.kernel.loads import RESTS, workload
from tests.kernel.own_cpu import OTHER, OWN
from tests.kernel.program import PROGRAM, is_loaded_by, left_in_kernel, wait_for

pytestmark = [pytest.mark.kernel, pytest.mark.side_by_side]

CPU = str(OWN)
LEAVE_ALTERNATE_SCREEN = b"\x1b[?1049l"
SAMPLE = b"local_timer"
SHOW_CURSOR = b"\x1b[?25h"


@dataclass(eq=False)
class Terminal:
    """A pseudo-terminal with noisetop in it."""

    pid: int
    master: int
    seen: bytearray = field(default_factory=bytearray)
    status: int | None = None

    def read(self) -> None:
        """Takes what the program has written."""
        while select.select([self.master], [], [], 0)[0]:
            try:
                chunk = os.read(self.master, 65536)
            except OSError:  # the other end is closed
                return
            if not chunk:
                return
            self.seen += chunk

    def shows(self, text: bytes) -> bool:
        """Whether the program has written this by now."""
        self.read()
        return text in self.seen

    def ended(self) -> bool:
        """Whether the program has ended; sets its status."""
        with contextlib.suppress(OSError):
            self.read()
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
        return self.status is not None


@contextlib.contextmanager
def terminal(*arguments: str, until: bytes = SAMPLE) -> Iterator[Terminal]:
    """noisetop in a terminal of 100 by 30 that shows its first sample."""
    pid, master = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm-256color"
        os.execv(PROGRAM, [str(PROGRAM), *arguments])
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    session = Terminal(pid, master)
    try:
        try:
            wait_for(lambda: session.shows(until), "the first sample on the screen")
        except AssertionError as error:
            state = "it ended" if session.ended() else "it runs"
            raise AssertionError(f"{error}: {state}, {session.seen[-2000:]!r}") from None
        yield session
    finally:
        if not session.ended():
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        with contextlib.suppress(OSError):
            os.close(master)


ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def terminals() -> Iterator[list[Terminal]]:
    """One for each of ENDING, which have just started."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(terminal("-c", CPU, until=b"")) for _ in ENDING]


def test_q_leaves_a_sane_terminal() -> None:
    with terminal("-c", CPU) as session:
        assert is_loaded_by(session.pid)
        os.write(session.master, b"q")
        wait_for(session.ended, "the end")
        assert session.status == 0
        assert LEAVE_ALTERNATE_SCREEN in session.seen
        assert SHOW_CURSOR in session.seen
    wait_for(lambda: not left_in_kernel(), "the programs to be gone")


def test_a_signal_leaves_a_sane_terminal() -> None:
    with terminals() as sessions:
        for session, number in zip(sessions, ENDING, strict=True):
            wait_for(partial(session.shows, SAMPLE), "the first sample")
            os.kill(session.pid, number)
        for session in sessions:
            wait_for(session.ended, "the end")
            assert session.status == 0
            assert LEAVE_ALTERNATE_SCREEN in session.seen
    wait_for(lambda: not left_in_kernel(), "the programs to be gone")


def test_a_signal_before_the_first_drawing_ends_it() -> None:
    with terminals() as sessions:
        before = [termios.tcgetattr(session.master) for session in sessions]
        waiting = dict(zip(sessions, ENDING, strict=True))

        def all_are_told() -> bool:
            """Each as soon as its programs are loaded."""
            for session in [one for one in waiting if is_loaded_by(one.pid)]:
                os.kill(session.pid, waiting.pop(session))
            return not waiting

        wait_for(all_are_told, "the programs to be loaded")
        for session, was in zip(sessions, before, strict=True):
            wait_for(session.ended, "the end")
            assert session.status == 0
            assert termios.tcgetattr(session.master) == was
    wait_for(lambda: not left_in_kernel(), "the programs to be gone")


def test_a_closed_terminal_ends_it() -> None:
    with terminal("-c", CPU) as session:
        os.close(session.master)
        wait_for(session.ended, "the end")
    wait_for(lambda: not left_in_kernel(), "the programs to be gone")


def test_kill_leaves_nothing_in_the_kernel() -> None:
    with terminal("-c", CPU) as session:
        os.kill(session.pid, signal.SIGKILL)
        wait_for(session.ended, "the end")
    wait_for(lambda: not left_in_kernel(), "the programs to be gone")


def test_the_duration_ends_the_samples_but_not_the_view() -> None:
    with (
        workload("timerfd", OWN, OTHER, 500, rest_us=RESTS),
        terminal("-c", CPU, "-d", "1s") as session,
    ):
        wait_for(lambda: session.shows(b"duration reached"), "the note that it ended")
        time.sleep(0)
        os.write(session.master, b"q")
        wait_for(session.ended, "the end")
        assert session.status == 0


def test_what_the_command_writes_comes_after_the_dashboard() -> None:
    script = "echo from the command; sleep 1; exit 5"
    with terminal("--", "sh", "-c", script, until=b"PID") as session:
        wait_for(lambda: session.shows(b"exited"), "the end of the command")
        os.write(session.master, b"q")
        wait_for(session.ended, "the end")
        assert session.status == 5
        after = session.seen.rsplit(LEAVE_ALTERNATE_SCREEN, 1)[1]
        assert b"from the command" in after
    wait_for(lambda: not left_in_kernel(), "the programs to be gone")
