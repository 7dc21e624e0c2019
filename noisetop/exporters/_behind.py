"""Writing on a second thread, while the next part of a file is put together."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import BinaryIO

_PARTS = 8
"""Parts that wait to be written at most, so that memory stays bounded."""


@dataclass(slots=True)
class WriterBehind:
    """Takes parts of a file in order; one that cannot be written is told with the next one."""

    out: BinaryIO
    _parts: queue.Queue[bytes | None] = field(default_factory=lambda: queue.Queue(_PARTS))
    _failed: list[Exception] = field(default_factory=list)

    def write(self, part: bytes) -> None:
        """Hands a part over. Raises what the writing of an earlier one raised."""
        if self._failed:
            raise self._failed[0]
        self._parts.put(part)

    def writelines(self, parts: Iterable[bytes]) -> None:
        """Hands over several parts."""
        for part in parts:
            self.write(part)

    def work(self) -> None:
        """Writes until there is no more, on a thread of its own. After an error it only takes."""
        while (part := self._parts.get()) is not None:
            if not self._failed:
                try:
                    self.out.write(part)
                except (OSError, ValueError) as error:
                    self._failed.append(error)

    def end(self) -> None:
        """No more parts come."""
        self._parts.put(None)

    def check(self) -> None:
        """Raises what the writing of any part raised."""
        if self._failed:
            raise self._failed[0]


@contextmanager
def writing_behind(out: BinaryIO) -> Iterator[WriterBehind]:
    """All parts are written when this is left; raises what went wrong with one of them."""
    writer = WriterBehind(out)
    thread = threading.Thread(target=writer.work, name="writer")
    thread.start()
    try:
        yield writer
    finally:
        writer.end()
        thread.join()
    writer.check()
