"""Runs the dashboard on the terminal that test_terminal.py gives it, as the command line does."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import sys
import termios
from collections.abc import Callable

from textual.drivers._writer_thread import WriterThread

from noisetop.errors import NoisetopError
from noisetop.tui.app import run_dashboard
from noisetop.tui.panels.cpus import CpuTable
from tests.builders import FakeFeed, cpu, sample, source, summary


def _broken(*_: object) -> None:
    raise ZeroDivisionError("no such figure")


def _suspended_in_a_write(write: Callable[[WriterThread, str], None]) -> object:
    """Ctrl-Z while text is on its way to the terminal, once."""
    at_first = iter([True])

    def suspended(thread: WriterThread, text: str) -> None:
        if next(at_first, False):
            with thread._queue.mutex:
                signal.raise_signal(signal.SIGTSTP)
        write(thread, text)

    return suspended


def become_program(streams: list[int], environment: dict[str, str]) -> None:
    """Makes a forked process one like a shell starts: stdin, stdout and stderr are these."""
    os.setsid()
    for number, fd in enumerate(streams):
        os.dup2(fd, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    os.environ.clear()
    os.environ.update(environment)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGTSTP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def main(case: str, log: str) -> int:
    # The log is how a test hears from a process whose terminal is gone.
    with contextlib.suppress(OSError):
        fcntl.ioctl(1, termios.TIOCSCTTY, 0)
    feed = FakeFeed(sample(summary(cpu(1, source("irq", "36 disk")))))
    if case == "feed error":
        feed.push(NoisetopError("the kernel took the program away"))
    elif case == "caught":
        signal.signal(signal.SIGTERM, lambda *_: None)
    elif case == "interrupted":
        feed.interrupted = True
    elif case == "exception":
        CpuTable.draw = _broken  # type: ignore[assignment, method-assign]
    elif case == "suspended in a write":
        WriterThread.write = _suspended_in_a_write(WriterThread.write)  # type: ignore[assignment, method-assign]
    elif case == "no hangup signal":
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        run_dashboard(feed)
        outcome, status = "returned", 0
    except NoisetopError as error:
        outcome, status = str(error), error.exit_code
    with open(log, "w") as out:  # noqa: PTH123
        out.write(f"{outcome}\n{signal.getsignal(signal.SIGTERM)!r}\n")
    return status


if __name__ == "__main__":
    # What is still buffered for a terminal that is gone would make the normal exit complain.
    os._exit(main(*sys.argv[1:]))
