"""stdin, stdout and stderr as every command may use them: always open, in any encoding, and with
one line where stdout takes no more."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

from noisetop.errors import NoisetopError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class _Stdout(io.FileIO):
    """A reader that is gone raises BrokenPipeError, everything else is an error for the user."""

    def write(self, data: ReadableBuffer, /) -> int:
        """Raises NoisetopError and BrokenPipeError."""
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise NoisetopError(
                f"cannot write to stdout: {error.strerror}: write to another place"
            ) from None


class _Stderr(io.FileIO):
    """Messages that nobody can read must not end a recording."""

    def write(self, data: ReadableBuffer, /) -> int:
        """Drops what cannot be written."""
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes


def open_standard_streams() -> None:
    """Replaces what the interpreter made of the three descriptors. Call it once, first of all.

    A closed one is opened to nowhere, so that no file gets its number; writing to a closed stdout
    still fails. What the encoding of a stream lacks is written as a backslash escape.
    """
    if sys.stdin is None:
        _fill(0, os.O_RDONLY)
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
        sys.__stdin__ = sys.stdin  # type: ignore[misc]  # Textual asks it for its descriptor
    if sys.stdout is None:
        _fill(1, os.O_RDONLY)
    if sys.stderr is None:
        _fill(2, os.O_WRONLY)
    sys.stdout = _wrapped(_Stdout(1, "w", closefd=False), sys.stdout)
    sys.stderr = _wrapped(_Stderr(2, "w", closefd=False), sys.stderr)


def _fill(number: int, flags: int) -> None:
    """Opens the null device under this number. It stays closed for other programs."""
    fd = os.open(os.devnull, flags | os.O_CLOEXEC)
    if fd != number:
        os.dup2(fd, number, inheritable=False)
        os.close(fd)


def _wrapped(raw: io.FileIO, made: TextIO | None) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=made.encoding if made else "utf-8",
        errors="backslashreplace",
        line_buffering=raw.fileno() == 2 or raw.isatty(),
    )


def end_stdout() -> None:
    """Writes what is left, or drops it where that fails, so that the exit does not complain."""
    try:
        sys.stdout.flush()
    except (OSError, NoisetopError):
        null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
