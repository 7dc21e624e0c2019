"""A feed whose trace begins with the first sample: a view can draw its frame meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from noisetop.live.sample import Feed, Sample
from noisetop.machine.system import topology
from noisetop.machine.topology import CpuPlace, places_of
from noisetop.tracing.stopper import Stopper


@dataclass(slots=True)
class StartingFeed:
    """A noisetop.live.sample.Feed. What it is asked for before it has begun is kept for then."""

    begin: Callable[[], Feed]
    """Starts what is to be shown, which takes about a second. Called once, by start(), on whichever
    thread that runs."""
    stopper: Stopper
    title: str
    first_interval_ns: int
    places: Mapping[int, CpuPlace] = field(default_factory=lambda: places_of(topology()))
    _feed: Feed | None = None
    _diagnosis_wanted: bool = False
    _moments_wanted: bool = False
    _woken: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)
    """Of what was asked for, and whether there is somebody to tell it to."""

    def start(self) -> Feed:
        """Begins, unless that was done. Errors of ``begin`` pass through."""
        if self._feed is not None:
            return self._feed
        feed = self.begin()
        with self._lock:
            feed.interval_ns = self.first_interval_ns
            feed.diagnose(wanted=self._diagnosis_wanted)
            feed.want_moments(wanted=self._moments_wanted)
            if self._woken:
                feed.wake()
            self._feed = feed
        return feed

    @property
    def interval_ns(self) -> int:
        """Part of Feed."""
        return self.first_interval_ns if self._feed is None else self._feed.interval_ns

    @interval_ns.setter
    def interval_ns(self, value: int) -> None:
        with self._lock:
            self.first_interval_ns = value
            if self._feed is not None:
                self._feed.interval_ns = value

    @property
    def interrupted(self) -> bool:
        """Part of Feed."""
        return self.stopper.interrupted

    def next(self) -> Sample:
        """Part of Feed; the first one starts."""
        return self.start().next()

    def reset(self) -> None:
        """Part of Feed."""
        if self._feed is not None:
            self._feed.reset()

    def diagnose(self, *, wanted: bool) -> None:
        """Part of Feed."""
        with self._lock:
            self._diagnosis_wanted = wanted
            if self._feed is not None:
                self._feed.diagnose(wanted=wanted)

    def want_moments(self, *, wanted: bool) -> None:
        """Part of Feed."""
        with self._lock:
            self._moments_wanted = wanted
            if self._feed is not None:
                self._feed.want_moments(wanted=wanted)

    def wake(self) -> None:
        """Part of Feed."""
        with self._lock:
            self._woken = True
            if self._feed is not None:
                self._feed.wake()
