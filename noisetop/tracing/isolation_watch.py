"""Notices changes of what is kept away from the watched CPUs while it is open.

There is no event for most of them, so a thread reads the files about once a second. Of many
interrupts it reads some at a time, in turns.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from noisetop.counters.isolation_changes import Changes, IsolationChange
from noisetop.machine.isolation_settings import Settings, isolation_settings, partner
from noisetop.machine.system import ROOT
from noisetop.text.cpu_list import cpu_set
from noisetop.tracing.whole_intervals import seconds_to_next

_INTERVAL_S = 1.0
_MOST = 1024
"""Changes that are kept: a machine that balances interrupts all the time has many."""


@dataclass(slots=True)
class IsolationWatch:
    """Owns the thread that reads."""

    watched: frozenset[int]
    on_change: Callable[[Changes], None]
    """Called with all changes so far, one call at a time."""
    root: Path = ROOT
    interval_s: float = _INTERVAL_S
    _settings: Settings = field(default_factory=dict)
    _changes: list[IsolationChange] = field(default_factory=list)
    _looks: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def open(self) -> None:
        """From now on changes are noticed."""
        self._settings = isolation_settings(self.root)
        self._thread = threading.Thread(target=self._run, name="isolation", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Takes a last look; what changes later is not noticed. May be called again."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
            self._compare(isolation_settings(self.root))

    def changes(self) -> Changes:
        """What was noticed up to now."""
        return tuple(self._changes)

    def _run(self) -> None:
        while not self._stop.wait(seconds_to_next(self.interval_s)):
            self._look()

    def _look(self) -> None:
        self._looks += 1
        self._compare(isolation_settings(self.root, self._settings, self._looks))

    def _compare(self, after: Settings) -> None:
        before, now_ns = self._settings, time.monotonic_ns()
        self._settings = after
        found = [
            IsolationChange(now_ns, name, before.get(name, ""), after.get(name, ""))
            for name in sorted(before.keys() | after.keys())
            if before.get(name) != after.get(name) and self._concerns(name, before, after)
        ]
        if found and len(self._changes) < _MOST:
            self._changes += found
            self.on_change(self.changes())

    def _concerns(self, name: str, *settings: Settings) -> bool:
        """Whether watched CPUs were or are meant; what names no CPUs may mean all."""
        if name.startswith("/sys/devices/"):
            return True
        lists = [one[partner(name)] for one in settings if partner(name) in one]
        return not lists or any(not self.watched.isdisjoint(cpu_set(cpus) or ()) for cpus in lists)
