"""Noise of a recording that is still being written, from the blocks that lie in its file."""

from __future__ import annotations

from noisetop.events.interruption import SIDE_LEVEL
from noisetop.events.layout import Events, Layout
from noisetop.recording.growing_events import GrowingEvents


class NoiseSoFar:
    """Adds up what comes; 15 ns of CPU time per event.

    ``fd`` is open for reading and stays the caller's. ``offset``: where the blocks begin, in bytes.
    """

    def __init__(self, fd: int, layout: Layout, offset: int) -> None:
        self._layout = layout
        self._events = GrowingEvents(fd, layout, offset)
        self._noise_ns = 0

    def read(self) -> int:
        """Noise on all watched CPUs in ns: of the whole blocks in the file, as Summary.noise_ns.

        Raises OSError.
        """
        self._noise_ns += sum(map(self._noise_of, self._events.new()))
        return self._noise_ns

    def _noise_of(self, events: Events) -> int:
        """Sum of the net times of what took time of somebody."""
        noise = (
            (events["flags"] & self._layout.no_interval == 0)
            & (events["level"] != SIDE_LEVEL)
            & (events["victim_tid"] != 0)
        )
        return int(events["net_ns"][noise].sum())
