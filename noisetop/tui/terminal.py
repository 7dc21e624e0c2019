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

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class TerminalDriver(LinuxDriver):
    """Draws on stdout, reads keys from the terminal even when stdin is none, sees it closed."""

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
        self._hangup = select.epoll()
        self._own_terminal = -1
        if not self.input_tty:
            self._own_terminal = self.fileno = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC)
            self.input_tty = True

    def start_application_mode(self) -> None:
        """Part of Textual."""
        super().start_application_mode()  # type: ignore[no-untyped-call]
        # Textual's input thread reads nothing over and over from a terminal that is gone. An empty
        # mask leaves exactly the conditions that tell of it, so keys do not wake this up.
        with contextlib.suppress(FileExistsError):
            self._hangup.register(self.fileno, 0)
        asyncio.get_running_loop().add_reader(self._hangup.fileno(), self._on_hangup)

    def _on_hangup(self) -> None:
        asyncio.get_running_loop().remove_reader(self._hangup.fileno())
        self._app.exit()

    def close(self) -> None:
        """Part of Textual."""
        super().close()
        asyncio.get_running_loop().remove_reader(self._hangup.fileno())
        self._hangup.close()
        if self._own_terminal >= 0:
            os.close(self._own_terminal)


def check_terminal() -> None:
    """Raises NoisetopError when there is no terminal to read keys from."""
    if sys.__stdin__ is not None and sys.__stdin__.isatty():
        return
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC))
    except OSError:
        raise NoisetopError(
            "there is no terminal to read keys from: for plain text add '| cat'"
        ) from None


@contextlib.contextmanager
def leave_on_signals(leave: Callable[[], None]) -> Iterator[None]:
    """SIGINT, SIGTERM and SIGHUP call ``leave``; the second of a kind does what it does by default,
    should the terminal take no more output and so hold up the end."""

    def on_signal(number: int, _frame: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        leave()

    before = {number: signal.getsignal(number) for number in _SIGNALS}
    for number in _SIGNALS:
        signal.signal(number, on_signal)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
