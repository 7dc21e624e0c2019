"""Writes samples to a stream as they come."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TextIO

from noisetop.live.sample import Feed, Sample


def write_samples(
    feed: Feed, out: TextIO, as_text: Callable[[Sample], str], count: int | None
) -> None:
    """Writes each sample at once, until ``count`` of them (None: no limit), the end of the feed, or
    a closed pipe.

    Errors of the feed pass through.
    """
    if isinstance(out, io.TextIOWrapper):
        out.reconfigure(errors="backslashreplace")  # a locale without µ must not end the run
    written = 0
    while count is None or written < count:
        sample = feed.next()
        try:
            out.write(as_text(sample))
            out.flush()
        except BrokenPipeError:
            return
        written += 1
        if sample.ended:
            return
