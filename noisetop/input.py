"""Input files: regular ones, so that nothing waits for a writer, read into memory of our own."""

from __future__ import annotations

import os
import select
import stat
from pathlib import Path
from typing import BinaryIO

from noisetop.errors import NoisetopError

_PIECE_BYTES = 1 << 20


def open_input(path: Path, wanted: str) -> BinaryIO:
    """The open file. ``wanted``: what to give instead of a folder, a pipe or a device.

    Raises NoisetopError where it is one of these, OSError, and ValueError for what is no file name.
    """
    # Some devices do something when they are opened, and a pipe would wait for its writer.
    if stat.S_ISREG(path.stat().st_mode):
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        file = os.fdopen(fd, "rb")
        if stat.S_ISREG(os.fstat(fd).st_mode):
            return file
        file.close()
    raise NoisetopError(f"{path} is not a file: give {wanted}")


def read_up_to(file: BinaryIO, most: int) -> bytes:
    """The whole file, or its first ``most`` bytes and one more where it is larger. Takes as much
    memory as there is in the file: reading up to a bound reserves the bound. Raises OSError."""
    return file.read(min(os.fstat(file.fileno()).st_size, most) + 1)


class InputBytes:
    """A file by position, for as long as this lives. What others do to the file meanwhile cannot
    change what was read, nor end the process, as it does where a file is mapped."""

    def __init__(self, file: BinaryIO) -> None:
        """Keeps the file open; ``file`` itself stays the caller's."""
        # It closes a descriptor without Python code. A finaliser is such code: Ctrl-C that comes
        # then is lost.
        self._file = select.epoll.fromfd(os.dup(file.fileno()))
        self._first = 0
        self._piece = b""

    def __len__(self) -> int:
        """Its size now."""
        return os.fstat(self._file.fileno()).st_size

    def at(self, offset: int, size: int) -> memoryview:
        """So many bytes, fewer where the file ends. Neighbors are read along. Raises OSError."""
        begin = offset - self._first
        if begin < 0 or begin + size > len(self._piece):
            self._piece = os.pread(self._file.fileno(), max(size, _PIECE_BYTES), offset)
            self._first, begin = offset, 0
        return memoryview(self._piece)[begin : begin + size]
