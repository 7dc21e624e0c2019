"""What has to hold: a line for each limit, and the exit status of a command that measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limit:
    """A figure that may not exceed its limit."""

    name: str
    value: float
    limit: float
    unit: str = ""

    @property
    def held(self) -> bool:
        """A value that is no number holds nothing."""
        return self.value <= self.limit

    def line(self) -> str:
        """``held: longest scrape 12.3 ms, at most 50 ms``."""
        word = "held" if self.held else "NOT HELD"
        unit = f" {self.unit}" if self.unit else ""
        return f"{word}: {self.name} {self.value:.4g}{unit}, at most {self.limit:g}{unit}"


def conclude(limits: Sequence[Limit]) -> int:
    """Prints all of them; 0 where all hold, else 1."""
    for one in limits:
        print(one.line(), flush=True)
    return 0 if limits and all(one.held for one in limits) else 1
