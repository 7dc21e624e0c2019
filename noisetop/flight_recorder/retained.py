"""What must be known from before the window: names of tasks, and the last trigger of each object.

A timer may be armed, and a task named, hours before the moment that they explain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from noisetop.events.layout import Events, Layout
from noisetop.tables.rows import joined, select

_MOST_TRIGGERS = 1 << 16
_MOST_NAMES = 1 << 14
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


def _last_of_each(
    keys: np.ndarray[tuple[int], np.dtype[np.uint64]],
) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Places of the last row with each key, in their order."""
    _, first = np.unique(keys[::-1], return_index=True)
    return np.sort(len(keys) - 1 - first)


@dataclass(slots=True)
class Retained:
    """Takes names when they are told, and triggers when they leave the window; bounded memory."""

    layout: Layout
    is_alive: Callable[[int], bool]
    """Whether there is a task of that number: those that live are named once only."""
    _names: Events = field(init=False)
    _triggers: Events = field(init=False)

    def __post_init__(self) -> None:
        self._names = self._triggers = np.empty(0, self.layout.event)

    @property
    def records(self) -> Events:
        """Names, then triggers, each in the order in which they were told."""
        return joined([self._names, self._triggers])

    def add_names(self, events: Events) -> None:
        """Takes the names among records, in their order."""
        names = self._told(events, "NAME")
        if len(names):
            names = joined([self._names, names])
            self._names = self._bounded(select(names, _last_of_each(names["tid"].astype("<u8"))))

    def add_triggers(self, events: Events) -> None:
        """Takes the triggers among records, in their order."""
        triggers = self._told(events, "TRIGGER")
        if len(triggers):
            latest = select(triggers, _last_of_each(self._keys(triggers)))
            both = joined([self._triggers, latest])
            kept = _last_of_each(self._keys(both))[-_MOST_TRIGGERS:]
            self._triggers = select(both, kept)

    def _told(self, events: Events, kind: str) -> Events:
        return select(events, events["flags"] & np.uint8(self.layout.flags[kind]) != 0)

    def _keys(self, records: Events) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
        """A number for kind, object and target of each trigger."""
        triggers = records.view(self.layout.trigger)
        small = triggers["source"].astype("<u8") << np.uint64(16) | triggers["target_cpu"]
        keys: np.ndarray[tuple[int], np.dtype[np.uint64]] = triggers["object"] * _SPREAD + small
        return keys

    def _bounded(self, names: Events) -> Events:
        """Without the oldest names of tasks that are gone."""
        excess = len(names) - _MOST_NAMES
        if excess <= 0:
            return names
        kept = np.ones(len(names), bool)
        tids = names["tid"][: 2 * excess].tolist()
        kept[: 2 * excess] = [self.is_alive(tid) for tid in tids]
        return select(names, kept)
