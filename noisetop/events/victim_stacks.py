"""Where victims were while something else had their CPU for long."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

KEPT = 1024
"""Of the longest; worst moments are among them."""
NO_STACK = 0xFFFFFFFF
"""``NOISE_NO_STACK``."""
TRIGGER_OF = "victim"
"""What their source declares in place of the kind of an event."""


@dataclass(slots=True)
class VictimStacks:
    """Records of the source ``victim_stack``, by what took the CPU, in bounded memory."""

    _longest: dict[tuple[int, int], tuple[int, int, int]] = field(default_factory=dict)
    """By CPU and when it was taken: for how long, the victim's tid, and its user stack."""

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

    def rows(self) -> list[list[int]]:
        """For a file; of() is its inverse."""
        return [[*where, *told] for where, told in sorted(self._longest.items())]

    @classmethod
    def of(cls, rows: Iterable[Any]) -> VictimStacks:
        """Raises ValueError or TypeError on what are no rows."""
        stacks = cls()
        for cpu, start_ns, gross_ns, tid, stack in rows:
            stacks._longest[int(cpu), int(start_ns)] = int(gross_ns), int(tid), int(stack)
        return stacks

    def _drop(self) -> None:
        longest = sorted(self._longest, key=lambda where: -self._longest[where][0])
        self._longest = {where: self._longest[where] for where in longest[:KEPT]}

    def during(self, tid: int, cpu: int, start_ns: int, end_ns: int) -> int:
        """The key of the user stack of a victim that lost a CPU within these bounds, when it did so
        for the longest time; -1: not known."""
        inside = [
            (gross_ns, stack)
            for (on, began_ns), (gross_ns, who, stack) in self._longest.items()
            if who == tid and on == cpu and start_ns <= began_ns <= end_ns
        ]
        return max(inside, default=(0, -1))[1]
