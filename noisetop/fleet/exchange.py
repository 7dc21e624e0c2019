"""Two folders change places at once: whoever looks sees one or the other, also after a crash."""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path

from noisetop.errors import NoisetopError

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_NOT_HERE = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)


def exchange(one: Path, other: Path) -> None:
    """Both exist, on one file system. Raises NoisetopError, and then nothing has changed."""
    libc = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(one), os.fsencode(other)
    if libc.renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0:
        return
    code = ctypes.get_errno()
    if code in _NOT_HERE:
        raise NoisetopError(
            f"the file system of {other} cannot exchange folders: compact on a local one, and copy"
        )
    raise NoisetopError(f"cannot replace {other}: {os.strerror(code)}")
