"""What must be known from before the window: names of tasks, and the last trigger of each object.

A timer may be armed, and a task named, hours before the moment that they explain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from noisetop._tables import Groups
from noisetop.events.layout import Events, Layout
from noisetop.tables.rows import joined, select

_MOST_TRIGGERS = 1 << 16
_MOST_NAMES = 1 << 14
Places = npt.NDArray[np.intp]


def _last_of_each(columns: tuple[npt.NDArray[Any], ...]) -> Places:
    """Places of the last row with each combination, in their order."""
    count = len(columns[0])
    backwards = tuple(column[::-1] for column in columns)
    last = Groups(len(columns)).numbers(backwards, np.empty(count, np.uint32))
    return count - 1 - np.array(last[::-1], np.intp)


def last_triggers(layout: Layout, records: Events) -> Places:
    """Places of the last trigger of each kind, object and target, by time: rings of two CPUs are
    read one after the other."""
    triggers = records.view(layout.trigger)
    order = np.argsort(triggers["time_ns"], kind="stable")
    keys = (triggers["object"], triggers["source"], triggers["target_cpu"])
    return order[_last_of_each(tuple(key[order] for key in keys))]


@dataclass(slots=True)
class Retained:
    """Takes names when they are told, and triggers when they leave the window; bounded memory."""

    layout: Layout
    is_alive: Callable[[int], bool]
    """Whether there is a task of that number: those that live are named once only."""
    names: Events = field(init=False)
    triggers: Events = field(init=False)
    """By time."""

    def __post_init__(self) -> None:
        self.names = self.triggers = np.empty(0, self.layout.event)

    def add_names(self, names: Events) -> None:
        """Takes names in their order."""
        if len(names):
            names = joined([self.names, names])
            self.names = self._bounded(select(names, _last_of_each((names["tid"],))))

    def add_triggers(self, blocks: Sequence[Events]) -> None:
        """Takes triggers in their order."""
        latest = [select(some, last_triggers(self.layout, some)) for some in blocks if len(some)]
        if latest:
            both = joined([self.triggers, *latest])
            self.triggers = select(both, last_triggers(self.layout, both)[-_MOST_TRIGGERS:])

    def _bounded(self, names: Events) -> Events:
        """Without the oldest names of tasks that are gone."""
        excess = len(names) - _MOST_NAMES
        if excess <= 0:
            return names
        kept = np.ones(len(names), bool)
        tids = names["tid"][: 2 * excess].tolist()
        kept[: 2 * excess] = [self.is_alive(tid) for tid in tids]
        return select(names, kept)
