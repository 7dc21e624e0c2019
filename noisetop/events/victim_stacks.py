"""Where victims were while something else had their CPU for long."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

KEPT = 1024
"""Of the longest; worst moments are among them."""
TRIGGER_OF = "victim"
"""What their source declares in place of the kind of an event."""


class VictimStacks:
    """Records of the source ``victim_stack``, by what took the CPU, in bounded memory."""

    def __init__(self) -> None:
        self._longest: dict[tuple[int, int], tuple[int, int, int]] = {}

    def clear(self) -> None:
        """Forgets them."""
        self._longest.clear()

    def add(self, records: npt.NDArray[np.void]) -> None:
        """Takes ``struct noise_trigger`` records of that source."""
        for row in records:
            where = int(row["cpu"]), int(row["time_ns"])
            self._longest[where] = int(row["object"]), int(row["tid"]), int(row["user_stack"])
        if len(self._longest) > 2 * KEPT:
            self._drop()

    def _drop(self) -> None:
        longest = sorted(self._longest, key=lambda where: -self._longest[where][0])
        self._longest = {where: self._longest[where] for where in longest[:KEPT]}

    def during(self, cpu: int, start_ns: int, end_ns: int) -> tuple[int, int]:
        """The victim's tid and the key of its user stack when a CPU was taken from it within these
        bounds, for the longest time; (0, -1): not known."""
        inside = [
            told
            for (on, began_ns), told in self._longest.items()
            if on == cpu and start_ns <= began_ns <= end_ns
        ]
        _, tid, stack = max(inside, default=(0, 0, -1))
        return tid, stack
