"""Files that only this run needs."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import BinaryIO

from noisetop.errors import NoisetopError

_NO_FOLDER = "no folder takes temporary files: name one that does, as in TMPDIR=FOLDER noisetop …"

_ENDING = (signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C raises an error, which leaves no folder behind."""


def temporary_file() -> BinaryIO:
    """A file without a name. Raises NoisetopError."""
    try:
        return tempfile.TemporaryFile()
    except OSError:
        raise NoisetopError(_NO_FOLDER) from None


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder of our own, which goes with the block, and with a signal that ends the process in
    it. Raises NoisetopError."""
    with _held_back():
        try:
            folder = tempfile.TemporaryDirectory(prefix="noisetop-")
        except OSError:
            raise NoisetopError(_NO_FOLDER) from None
        ending = [one for one in _ENDING if signal.getsignal(one) is signal.SIG_DFL]

        def leave(number: int, _frame: FrameType | None) -> None:
            folder.cleanup()
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)

        for number in ending:
            signal.signal(number, leave)
    try:
        with folder as name:
            yield Path(name)
    finally:
        for number in ending:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def _held_back() -> Iterator[None]:
    """What would end the process does so after the block."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
