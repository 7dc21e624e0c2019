"""Adds names to a recording while it grows: of kernel functions, and who the tasks are."""

from __future__ import annotations

import contextlib
import os
import select
import threading
from collections.abc import Callable
from dataclasses import dataclass

from noisetop.tracing.whole_intervals import seconds_to_next

INTERVAL_S = 0.25
"""A recording that is cut short lacks the names that first occurred in its last moments: these."""
_LONGEST_S = 1.0
"""What is known is looked up again so often, as it may have changed."""


@dataclass(slots=True)
class NamesWriter:
    """Owns the thread that has new names appended. It sleeps while nothing is new."""

    write: Callable[[], None]
    """Appends the names that are new. May raise OSError."""
    announce: Callable[[int, float], None]
    """Has an eventfd written to when something is new, at most once in so many seconds; -1: no
    longer."""
    interval_s: float = INTERVAL_S
    longest_s: float = _LONGEST_S
    _woken: int = -1
    """The eventfd."""
    _stopped: bool = False
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """From now on names are written soon after they occur."""
        self._woken = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self.announce(self._woken, self.interval_s)
        self._thread = threading.Thread(target=self._run, name="names", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Nothing is appended by itself after this. May be called again."""
        if self._thread is None:
            return
        self.announce(-1, self.interval_s)
        self._stopped = True
        os.eventfd_write(self._woken, 1)
        self._thread.join()
        os.close(self._woken)
        self._thread = None

    def _run(self) -> None:
        poller = select.poll()
        poller.register(self._woken, select.POLLIN)
        # Whoever writes the end of the recording meets the same error, and reports it.
        with contextlib.suppress(OSError):
            while True:
                if poller.poll(1_000 * seconds_to_next(self.longest_s)):
                    os.eventfd_read(self._woken)
                if self._stopped:
                    return
                self.write()

    def write_last(self) -> None:
        """What is new since it was closed."""
        with contextlib.suppress(OSError):
            self.write()
