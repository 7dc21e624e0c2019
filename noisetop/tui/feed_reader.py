"""The one thread that waits for samples; it hands them over as messages and touches no widget."""

from __future__ import annotations

from collections.abc import Callable

from textual.message import Message

from noisetop.live import Feed, Sample


class NewSample(Message):
    """A sample has come."""

    def __init__(self, sample: Sample) -> None:
        super().__init__()
        self.sample = sample


class FeedReader:
    """run() belongs to the reading thread, all else to the others."""

    def __init__(self, feed: Feed, post: Callable[[NewSample], object]) -> None:
        self._feed = feed
        self._post = post
        self._stopping = False
        self._reset_wanted = False

    def run(self) -> None:
        """Reads until stop() or the end of the feed, whose errors pass through."""
        while not self._stopping:
            sample = self._feed.next()
            if self._reset_wanted and not sample.ended:
                # What this sample tells of lies before the reset.
                self._reset_wanted = False
                self._feed.reset()
            else:
                self._post(NewSample(sample))
            if sample.ended:
                return

    def reset(self) -> None:
        """Has the feed start anew as soon as it can be talked to."""
        self._reset_wanted = True
        self._feed.wake()

    def stop(self) -> None:
        """Ends run() soon."""
        self._stopping = True
        self._feed.wake()
