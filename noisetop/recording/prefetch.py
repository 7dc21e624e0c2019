"""Reading on a second thread, while what was read before is worked on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")


def read_ahead(parts: Iterable[Item]) -> Iterator[Item]:
    """The same parts, each read while the one before is worked on. Raises what reading raises.

    For work whose result does not depend on how far the reader is: what grows while it reads is
    one part ahead. NumPy lets go of the interpreter in what takes long.
    """
    parts = iter(parts)
    with ThreadPoolExecutor(1, "reader") as reader:
        coming = reader.submit(next, parts, None)
        while (part := coming.result()) is not None:
            coming = reader.submit(next, parts, None)
            yield part
