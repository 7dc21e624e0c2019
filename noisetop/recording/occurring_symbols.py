"""Which kernel functions the records of a growing recording name."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from noisetop.events.layout import Events, Layout
from noisetop.recording.growing_events import GrowingEvents
from noisetop.tables.dictionary import DictionaryEncoder


class OccurringSymbols:
    """Follows the blocks of a file while others append to it, each address given out once."""

    def __init__(self, fd: int, layout: Layout, offset: int) -> None:
        """``fd`` is open for reading; its first block begins at byte ``offset``."""
        self._layout = layout
        self._events = GrowingEvents(fd, layout, offset)
        self._encoder = DictionaryEncoder(1)
        self._functions = np.zeros(256, bool)
        for number, kind in layout.kinds.items():
            self._functions[number] = kind.identity == "function"

    def new_addresses(self) -> list[int]:
        """Addresses in the blocks that became whole since the last call and were not in earlier
        ones, in the order of their first occurrence. Raises OSError."""
        found: list[int] = []
        for events in self._events.new():
            self._note(self._of_intervals(events), found)
            self._note(self._of_triggers(events), found)
        return found

    def _of_intervals(self, events: Events) -> npt.NDArray[np.uint64]:
        intervals = events["flags"] & self._layout.no_interval == 0
        addresses: npt.NDArray[np.uint64] = events["id"][
            intervals & self._functions.take(events["source"])
        ]
        return addresses

    def _of_triggers(self, events: Events) -> npt.NDArray[np.uint64]:
        triggers = events.view(self._layout.trigger)
        addresses: npt.NDArray[np.uint64] = triggers["work_function"][
            events["flags"] & self._layout.flags["TRIGGER"] != 0
        ]
        known: npt.NDArray[np.uint64] = addresses[addresses != 0]
        return known

    def _note(self, addresses: npt.NDArray[np.uint64], found: list[int]) -> None:
        def learn(row: int) -> int:
            found.append(int(addresses[row]))
            return 0

        self._encoder.numbers([addresses], learn)
