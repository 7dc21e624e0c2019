"""The terminal that the dashboard is drawn on, and how it may be taken away."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import sys
from collections.abc import Callable, Iterator

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver

from noisetop.errors import NoisetopError

_LEAVING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_TEXTUALS = (signal.SIGTSTP, signal.SIGCONT, signal.SIGWINCH)
"""Textual handles these and leaves its handlers behind."""


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
        assert sys.__stdout__ is not None
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
    """SIGINT, SIGTERM and SIGHUP call ``leave``; the second of a kind does what it does by default,
    should the terminal take no more output and so hold up the end."""

    def on_signal(number: int, _frame: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        leave()

    before = {number: signal.getsignal(number) for number in (*_LEAVING, *_TEXTUALS)}
    for number in _LEAVING:
        signal.signal(number, on_signal)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
