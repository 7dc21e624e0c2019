"""Files that only this run needs."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from noisetop.errors import NoisetopError

_NO_FOLDER = "no folder takes temporary files: name one that does, as in TMPDIR=FOLDER noisetop …"


def temporary_file() -> BinaryIO:
    """A file without a name. Raises NoisetopError."""
    try:
        return tempfile.TemporaryFile()
    except OSError:
        raise NoisetopError(_NO_FOLDER) from None


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder of our own, which goes with the block. Raises NoisetopError."""
    try:
        folder = tempfile.TemporaryDirectory(prefix="noisetop-")
    except OSError:
        raise NoisetopError(_NO_FOLDER) from None
    with folder as name:
        yield Path(name)
