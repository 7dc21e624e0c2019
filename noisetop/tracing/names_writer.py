"""Adds names to a recording while it grows: of kernel functions, and who the tasks are."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

_INTERVAL_S = 0.25
"""A recording that is cut short lacks the names that first occurred in its last moments: these."""


@dataclass(slots=True)
class NamesWriter:
    """Owns the thread that has new names appended."""

    write: Callable[[], None]
    """Appends the names that are new. May raise OSError."""
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """From now on names are written soon after they occur."""
        self._thread = threading.Thread(target=self._run, name="names", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Nothing is appended by itself after this. May be called again."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        # Whoever writes the end of the recording meets the same error, and reports it.
        with contextlib.suppress(OSError):
            while not self._stop.wait(_INTERVAL_S):
                self.write()

    def write_last(self) -> None:
        """What is new since it was closed."""
        with contextlib.suppress(OSError):
            self.write()
