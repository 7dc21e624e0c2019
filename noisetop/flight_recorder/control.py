"""Commands from other programs through a FIFO, in the words of ``perf record --control``."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from noisetop.errors import UsageError

FORM = "fifo:CTL[,ACK]"
_PREFIX = "fifo:"
_MOST_BYTES = 1 << 16
_ACK = b"ack\n"


@dataclass(slots=True)
class ControlFifo:
    """A context manager: reads lines, and answers each that was obeyed."""

    path: Path
    ack_path: Path | None
    fd: int = -1
    _ack_fd: int = -1
    _rest: bytes = field(default=b"")

    @classmethod
    def parse(cls, text: str) -> ControlFifo:
        """Of ``fifo:CTL[,ACK]``. Raises UsageError."""
        paths = text.removeprefix(_PREFIX).split(",")
        if not text.startswith(_PREFIX) or not all(paths) or len(paths) > 2:
            raise UsageError(f"--control takes {FORM}, as in fifo:ctl,ack after mkfifo ctl ack")
        return cls(Path(paths[0]), Path(paths[1]) if len(paths) > 1 else None)

    def check(self) -> None:
        """Raises UsageError where it could not be opened. Opens nothing: who waits to write would
        go on, and what it writes would be lost when this was closed."""
        for path in filter(None, (self.path, self.ack_path)):
            try:
                mode = path.stat().st_mode
            except OSError as error:
                raise _cannot_open(path, error) from None
            if not stat.S_ISFIFO(mode):
                raise _no_fifo(path)

    def __enter__(self) -> ControlFifo:
        self.fd = _opened(self.path)
        if self.ack_path is not None:
            self._ack_fd = _opened(self.ack_path)
        return self

    def __exit__(self, *_: object) -> None:
        for fd in (self.fd, self._ack_fd):
            if fd >= 0:
                os.close(fd)

    def lines(self) -> Iterator[str]:
        """What was written since the last call."""
        with contextlib.suppress(BlockingIOError):
            self._rest += os.read(self.fd, _MOST_BYTES)
        *whole, self._rest = self._rest.split(b"\n")
        self._rest = self._rest[-_MOST_BYTES:]
        for line in whole:
            if text := line.decode(errors="replace").strip("\0 \t\r"):
                yield text

    def acknowledge(self) -> None:
        """Tells who asked; nobody needs to read it."""
        if self._ack_fd >= 0:
            with contextlib.suppress(BlockingIOError):
                os.write(self._ack_fd, _ACK)


def _opened(path: Path) -> int:
    """For both directions: it does not come to its end when a writer goes. Raises UsageError."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _cannot_open(path, error) from None
    if not stat.S_ISFIFO(os.fstat(fd).st_mode):
        os.close(fd)
        raise _no_fifo(path)
    return fd


def _cannot_open(path: Path, error: OSError) -> UsageError:
    return UsageError(f"cannot open {path}: {error.strerror}: mkfifo {path}")


def _no_fifo(path: Path) -> UsageError:
    return UsageError(f"{path} is no FIFO: mkfifo another name")
