"""What wrong bytes in a file cause while it is read, as one line."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from noisetop.errors import NoisetopError
from noisetop.text.sanitize import printable

_CAUSES = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    SyntaxError,  # NumPy on what is no type
    TypeError,
    ValueError,
    zlib.error,
)
_MAX_REASON = 80


@contextmanager
def damage_told(path: Path, words: str, remedy: str) -> Iterator[None]:
    """Raises NoisetopError in place of all that a damaged file can cause: that the file ``words``,
    why, and what to do."""
    try:
        yield
    except OSError as error:
        raise NoisetopError(f"cannot read {path}: {error.strerror}") from None
    except _CAUSES as error:
        reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        reason = printable(reason[:_MAX_REASON])
        raise NoisetopError(f"{path} {words} ({reason}): {remedy}") from None
