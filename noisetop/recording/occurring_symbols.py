"""Which kernel functions the records of a growing recording name."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from noisetop.events.layout import Events, Layout
from noisetop.tables.dictionary import DictionaryEncoder


class OccurringSymbols:
    """Looks through records, and gives out each address once."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._encoder = DictionaryEncoder(1)
        self._functions = np.zeros(256, bool)
        for number, kind in layout.kinds.items():
            self._functions[number] = kind.identity == "function"

    def new_addresses(self, events: Events) -> list[int]:
        """Addresses in these records that were not in earlier ones, in the order of their first
        occurrence."""
        found: list[int] = []
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
        """What a sender queued names an interrupt where nobody saw it run."""
        triggers = events.view(self._layout.trigger)
        told = events["flags"] & self._layout.flags["TRIGGER"] != 0
        addresses: npt.NDArray[np.uint64] = np.concatenate(
            [triggers["work_function"][told], triggers["function"][told]]
        )
        known: npt.NDArray[np.uint64] = addresses[addresses != 0]
        return known

    def _note(self, addresses: npt.NDArray[np.uint64], found: list[int]) -> None:
        def learn(row: int) -> int:
            found.append(int(addresses[row]))
            return 0

        self._encoder.numbers([addresses], learn)
