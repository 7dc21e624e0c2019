"""The one thread that waits for samples; it hands them over as messages and touches no widget."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from textual.message import Message

from noisetop.live.sample import Feed, Sample

MOST_HELD = 600
"""Samples that wait while nobody can draw."""


class NewSample(Message):
    """A sample has come; ``resets`` is how many resets its total has seen."""

    def __init__(self, sample: Sample, resets: int) -> None:
        super().__init__()
        self.sample = sample
        self.resets = resets


class Progress(Message):
    """More is known of a recording."""


class FeedReader:
    """run() belongs to the reading thread, all else to the others."""

    def __init__(self, feed: Feed, post: Callable[[NewSample], object]) -> None:
        self._feed = feed
        self._post = post
        self._stopping = False
        self.ended = threading.Event()
        """Set when run() is over."""
        self._held: deque[NewSample] = deque(maxlen=MOST_HELD)
        self._holds = False
        self.resets = 0
        """Number of resets requested so far."""

    def run(self) -> None:
        """Reads until stop() or the end of the feed, whose errors pass through."""
        try:
            self._read()
        finally:
            self.ended.set()

    def _read(self) -> None:
        done = 0
        while not self._stopping:
            sample = self._feed.next()
            wanted = self.resets
            if wanted > done and not sample.ended:
                # This sample covers time before the reset.
                self._feed.reset()
                done = wanted
            else:
                self._hand_over(NewSample(sample, done))
            if sample.ended:
                return

    def _hand_over(self, message: NewSample) -> None:
        if self._holds:
            self._held.append(message)
            return
        while self._held:
            self._post(self._held.popleft())
        self._post(message)

    def hold(self, *, wanted: bool) -> None:
        """Keeps samples back, the last MOST_HELD of them, until they are wanted again: then they
        come with the next one."""
        self._holds = wanted

    def reset(self) -> None:
        """Resets the totals of the feed before its next sample."""
        self.resets += 1
        self._feed.wake()

    def stop(self) -> None:
        """Ends run() soon."""
        self._stopping = True
        self._feed.wake()
