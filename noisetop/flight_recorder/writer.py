"""A thread that writes snapshots: a slow disk keeps nobody from reading the rings."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from noisetop.errors import NoisetopError
from noisetop.flight_recorder.snapshot_files import Taken
from noisetop.summary.cpu_victim import CpuVictims
from noisetop.tracing.capabilities import FILES, raised

_WAITING = 3
"""Snapshots that are written or wait for that; each holds its part of the window in memory."""


NAME = "snapshots"
"""Of the thread."""


def _name_thread() -> None:
    """So that its time is seen apart from that of who reads the rings."""
    with suppress(OSError):
        Path("/proc/thread-self/comm").write_text(NAME)


class Sink(Protocol):
    """Where snapshots go."""

    def take(self, taken: Taken) -> CpuVictims:
        """Writes one; returns the victims of CPUs in it. Raises OSError and NoisetopError."""


@dataclass(slots=True)
class SnapshotWriter:
    """A context manager: what was put is written at its end."""

    sink: Sink
    notice: Callable[[str], None]
    whose: CpuVictims = field(default_factory=dict)
    """The victims of CPUs, by the last snapshot that collect() met."""
    written: int = 0
    """Snapshots that came to their end."""
    failed: int = 0
    """Those among them that could not be written."""
    _pool: ThreadPoolExecutor = field(init=False)
    _pending: deque[Future[CpuVictims]] = field(default_factory=deque)

    def __enter__(self) -> SnapshotWriter:
        self._pool = ThreadPoolExecutor(1, NAME, initializer=_name_thread)
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()
        self.collect()

    def put(self, taken: Taken) -> bool:
        """False where the disk does not keep up."""
        if len(self._pending) >= _WAITING:
            return False
        self._pending.append(self._pool.submit(self._take, taken))
        return True

    def _take(self, taken: Taken) -> CpuVictims:
        with raised(FILES):
            return self.sink.take(taken)

    @property
    def busy(self) -> bool:
        """Whether one is being written, or waits for that; of those that collect() knows."""
        return bool(self._pending)

    def collect(self) -> None:
        """Takes what came of those that were written by now."""
        while self._pending and self._pending[0].done():
            try:
                self.whose = self._pending.popleft().result()
            except (OSError, NoisetopError) as error:
                self.failed += 1
                why = error.strerror if isinstance(error, OSError) else error
                self.notice(f"a snapshot could not be written: {why}; recording goes on")
            self.written += 1
