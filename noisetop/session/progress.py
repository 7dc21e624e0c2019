"""The line that says how a recording gets on, rewritten in place on a terminal."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TextIO

from noisetop.counters.losses import LOSSES
from noisetop.text.units import format_clock, format_count, format_ns
from noisetop.tracing.tracer import Tracer

_INTERVAL_NS = 1_000_000_000
_TOLERANCE_NS = 100_000_000
"""Callers do not come on the dot."""
_USUAL_COLUMNS = 80
"""Of a terminal that does not tell how wide it is."""


def progress_text(elapsed_ns: int, event_count: int, noise_ns: int, dropped: int) -> str:
    """``00:01:23  1.23M events  noise 45.6 ms  0 dropped``."""
    events = f"{format_count(event_count)} {'event' if event_count == 1 else 'events'}"
    return (
        f"{format_clock(elapsed_ns)}  {events}  noise {format_ns(noise_ns)}"
        f"  {format_count(dropped)} dropped"
    )


@contextmanager
def progress_line(out: TextIO, tracer: Tracer) -> Iterator[Callable[[], None]]:
    """Yields what to call now and then to bring the line up to date; removes it in the end.

    Only figures that are in memory anyway are read. Nothing is written while the process is in
    the background of its terminal.
    """
    line = _Line(out)
    lost, lost_before = LOSSES.open(tracer), tracer.counters.at_start[LOSSES]
    due_ns = 0

    def update() -> None:
        nonlocal due_ns
        now_ns = time.monotonic_ns()
        if now_ns < due_ns or not _in_foreground(out):
            return
        due_ns = now_ns + _INTERVAL_NS - _TOLERANCE_NS
        elapsed_ns = now_ns - tracer.start_ns
        dropped = LOSSES.between(lost_before, lost.read(), tracer.start_ns, now_ns).total
        line.show(progress_text(elapsed_ns, tracer.event_count, tracer.noise_ns, dropped))

    try:
        yield update
    finally:
        line.remove()


@dataclass(slots=True)
class _Line:
    """The last line of a terminal."""

    out: TextIO
    _length: int = 0

    def show(self, text: str) -> None:
        """Puts a text in the place of the last one, cut where a longer one would wrap."""
        # A terminal that is gone must not end the recording.
        with suppress(OSError):
            width = os.get_terminal_size(self.out.fileno()).columns or _USUAL_COLUMNS
            text = text[: width - 1]
            self.out.write("\r" + text.ljust(self._length))
            self.out.flush()
            self._length = len(text)

    def remove(self) -> None:
        """Leaves an empty line, with the cursor at its beginning."""
        if self._length:
            self.show("")
            with suppress(OSError):
                self.out.write("\r")
                self.out.flush()


def _in_foreground(out: TextIO) -> bool:
    """Whether the terminal is ours to write to."""
    try:
        return os.tcgetpgrp(out.fileno()) == os.getpgrp()
    except OSError:  # not the controlling terminal: nobody else's either
        return True
