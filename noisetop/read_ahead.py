"""Reading on a second thread, while what was read before is worked on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

from noisetop.event import Interruptions


def read_ahead(tables: Iterable[Interruptions]) -> Iterator[Interruptions]:
    """The same tables, each read while the one before is worked on. Raises what reading raises.

    For work whose result does not depend on how far the reader is: the lists of sources and
    triggers, and the names of tasks, are one table ahead. NumPy lets go of the interpreter in
    what takes long.
    """
    tables = iter(tables)
    with ThreadPoolExecutor(1, "reader") as reader:
        coming = reader.submit(next, tables, None)
        while (table := coming.result()) is not None:
            coming = reader.submit(next, tables, None)
            yield table
