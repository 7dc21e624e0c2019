"""The terminal that the dashboard is drawn on, and how it may be taken away."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import select
import signal
import sys
import termios
import time
from collections.abc import Callable, Iterator
from typing import Any

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver

from noisetop.errors import NoisetopError

_LEAVING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_TEXTUALS = (signal.SIGTSTP, signal.SIGCONT, signal.SIGWINCH)
"""Textual handles these and leaves its handlers behind."""
_GRACE_NS = 2_000_000_000
"""For the end that the first signal asks for. Those that follow at once mean the same: timeout(1)
and systemd send several."""
_RESTORE = (
    b"\x1b[?2004l\x1b[?7h\x1b[?2048l\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l\x1b[<u"
    b"\x1b[?1049l\x1b[?25h\x1b[?1004l"
)
"""Takes back what LinuxDriver asks of a terminal."""


class TerminalDriver(LinuxDriver):
    """Draws on stdout and leaves when the terminal is closed."""

    def __init__(
        self,
        app: App[object],
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        # Textual draws on stderr, which people redirect to keep the messages of a run.
        assert isinstance(sys.__stdout__, io.TextIOWrapper)
        # A cell for a cell; an error would end the thread that also restores the terminal.
        sys.__stdout__.reconfigure(errors="replace")
        self._file = sys.__stdout__
        self._hangup: select.epoll | None = None

    def start_application_mode(self) -> None:
        """Part of Textual."""
        super().start_application_mode()  # type: ignore[no-untyped-call]
        # Textual's input thread reads nothing over and over from a terminal that is gone. An empty
        # mask leaves exactly the conditions that tell of it, so keys do not wake this up.
        self._hangup = select.epoll()
        self._hangup.register(self.fileno, 0)
        asyncio.get_running_loop().add_reader(self._hangup.fileno(), self._on_hangup)

    def _on_hangup(self) -> None:
        self._forget_hangup()
        self._app.exit()

    def _forget_hangup(self) -> None:
        if self._hangup is not None:
            asyncio.get_running_loop().remove_reader(self._hangup.fileno())
            self._hangup.close()
            self._hangup = None

    def _sigtstp_application(self, *_: object) -> None:
        """Textual's writes to the terminal from the signal's handler, which may have interrupted
        just that and then waits for itself: here it waits for its turn."""
        self._loop.call_soon_threadsafe(super()._sigtstp_application)

    def _sigcont_application(self, *_: object) -> None:
        """In place of Textual's, which also starts a terminal that was never suspended a second
        time; the kernel sends SIGCONT along when it takes the terminal away."""
        if self._must_signal_resume:
            self.resume_application_mode()

    def close(self) -> None:
        """Part of Textual."""
        super().close()
        self._forget_hangup()


@contextlib.contextmanager
def keys_from_terminal() -> Iterator[None]:
    """Where stdin is no terminal, keys come from the controlling one meanwhile.

    Raises NoisetopError when there is none.
    """
    if os.isatty(0):
        yield
        return
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC)
        stdin = os.dup(0)
    except OSError:
        raise NoisetopError(
            "there is no terminal to read keys from: for plain text use --plain"
        ) from None
    os.dup2(terminal, 0)
    os.close(terminal)
    try:
        yield
    finally:
        os.dup2(stdin, 0)
        os.close(stdin)


@contextlib.contextmanager
def leave_on_signals(leave: Callable[[], None]) -> Iterator[None]:
    """SIGINT, SIGTERM and SIGHUP call ``leave``. One that comes when the end is overdue, as where
    the terminal takes no more output, restores the terminal and ends the process."""
    first_ns = 0
    attributes = _attributes()

    def on_signal(number: int, _frame: object) -> None:
        nonlocal first_ns
        now_ns = time.monotonic_ns()
        if not first_ns:
            first_ns = now_ns
            leave()
        elif now_ns - first_ns > _GRACE_NS:
            _restore(attributes)
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    before = {number: signal.getsignal(number) for number in (*_LEAVING, *_TEXTUALS)}
    for number in _LEAVING:
        signal.signal(number, on_signal)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _attributes() -> list[Any]:
    """Of the terminal that keys come from; empty when it is gone."""
    try:
        return termios.tcgetattr(0)
    except termios.error:
        return []


def _restore(attributes: list[Any]) -> None:
    """Puts the terminal back as it was, without waiting for one that takes no output."""
    if not attributes:
        return
    with contextlib.suppress(termios.error, OSError):
        termios.tcsetattr(0, termios.TCSANOW, attributes)
        termios.tcflush(1, termios.TCOFLUSH)
        poll = select.poll()
        poll.register(1, select.POLLOUT)
        if poll.poll(0):
            os.write(1, _RESTORE)
