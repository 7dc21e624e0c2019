"""A thread that writes snapshots: a slow disk keeps nobody from reading the rings."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from noisetop.errors import NoisetopError
from noisetop.flight_recorder.snapshot_files import Taken
from noisetop.summary.cpu_victim import CpuVictims

_WAITING = 2
"""Snapshots that may wait for the disk; each holds its part of the window in memory."""


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
    """The victims of CPUs, by the last snapshot."""
    looked: bool = False
    """Whether one was tried, so that they are known if they can be."""
    failed: int = 0
    """Snapshots that could not be written."""
    _queue: queue.Queue[Taken | None] = field(default_factory=lambda: queue.Queue(_WAITING))
    _thread: threading.Thread = field(init=False)

    def __enter__(self) -> SnapshotWriter:
        self._thread = threading.Thread(target=self._run, name="snapshots")
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._queue.put(None)
        self._thread.join()

    def put(self, taken: Taken) -> bool:
        """False where the disk does not keep up."""
        try:
            self._queue.put_nowait(taken)
        except queue.Full:
            return False
        return True

    @property
    def busy(self) -> bool:
        """Whether one is being written, or waits for that."""
        return self._queue.unfinished_tasks > 0

    def _run(self) -> None:
        while (taken := self._queue.get()) is not None:
            try:
                self.whose = self.sink.take(taken)
            except (OSError, NoisetopError) as error:
                self.failed += 1
                why = error.strerror if isinstance(error, OSError) else error
                self.notice(f"a snapshot could not be written: {why}; recording goes on")
            finally:
                self.looked = True
                self._queue.task_done()
