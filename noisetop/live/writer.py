"""Writes samples to a stream as they come."""

from __future__ import annotations

from collections.abc import Callable
from typing import TextIO

from noisetop.live.sample import Feed, Sample


def write_samples(feed: Feed, out: TextIO, as_text: Callable[[Sample], str]) -> None:
    """Writes each sample at once, until the end of the feed or a closed pipe.

    Errors of the feed pass through.
    """
    while True:
        sample = feed.next()
        try:
            out.write(as_text(sample))
            out.flush()
        except BrokenPipeError:
            return
        if sample.ended:
            return
