"""How values are read from /proc and /sys, and one of them as evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Read = Callable[[str], str]
"""The text of a file by its absolute name, stripped; empty where it cannot be read."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A file and its value as read, or why it has none."""

    path: str
    value: str


class CannotTellError(Exception):
    """Raised inside a check when what it needs cannot be read; becomes a skip."""

    def __init__(self, reason: str, *readings: Reading) -> None:
        super().__init__(reason)
        self.readings = readings
