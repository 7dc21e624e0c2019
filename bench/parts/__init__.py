"""The parts of the bench. Each module here is one and declares ``PART``."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from bench.estimate import Estimate
from bench.table import Table
from bench.tools import Setting, Tool
from bench.victim import Victim


@dataclass(frozen=True, slots=True)
class Plan:
    """What a part is given."""

    tools: Sequence[Tool]
    setting: Setting
    victim: Victim
    rounds: int


@dataclass(frozen=True, slots=True)
class Target:
    """A figure that has to stay below a limit."""

    name: str
    estimate: Estimate
    limit: float

    @property
    def held(self) -> bool:
        """Whether it does."""
        return self.estimate.value <= self.limit


@dataclass(frozen=True, slots=True)
class PartResult:
    """What a part found."""

    figures: dict[str, object]
    """For the JSON file: everything that the tables are made from."""
    tables: tuple[Table, ...]
    ratios: dict[str, Estimate] = field(default_factory=dict)
    """For comparison with a baseline; a larger one is a worse one."""
    targets: tuple[Target, ...] = ()


class Part(Protocol):
    """One question that the bench answers."""

    @property
    def number(self) -> int:
        """What ``--part`` calls it."""
        ...

    @property
    def name(self) -> str:
        """What the results call it."""
        ...

    @property
    def needs_root(self) -> bool:
        """Whether it traces."""
        ...

    def run(self, plan: Plan) -> PartResult:
        """Measures."""
        ...


def all_parts() -> tuple[Part, ...]:
    """Every part, by number."""
    parts: list[Part] = [
        importlib.import_module(f"{__name__}.{module.name}").PART
        for module in pkgutil.iter_modules(__path__)
    ]
    return tuple(sorted(parts, key=lambda part: part.number))
