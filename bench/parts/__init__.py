"""The parts of the bench. Each module here is one and declares ``PART``."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from bench.estimate import Estimate
from bench.rounds import Rounds, take_rounds
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
    programs: Sequence[str] = ()
    """Real programs to measure, by name; empty: all."""


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


@runtime_checkable
class OwnPart(Part, Protocol):
    """A part that goes its own way."""

    def run(self, plan: Plan) -> PartResult:
        """Measures."""
        ...


@runtime_checkable
class PeriodPart(Part, Protocol):
    """A part that measures a period without a tool and one with each. Such parts share the rounds,
    as starting and stopping a tool takes longer than measuring it."""

    def measure(self, plan: Plan) -> object:
        """One period."""
        ...

    def evaluate(self, plan: Plan, rounds: Rounds[Any]) -> PartResult:
        """All rounds."""
        ...


@runtime_checkable
class ObstructedPart(Part, Protocol):
    """A part that not every machine can run."""

    def obstacle(self) -> str:
        """What this machine lacks, and what to type; empty: nothing."""
        ...


def obstacle_of(part: Part, *, is_root: bool) -> str:
    """Why the part cannot be run, and what to type; empty: it can."""
    if part.needs_root and not is_root:
        return "it needs root, sudo python -m bench"
    return part.obstacle() if isinstance(part, ObstructedPart) else ""


def run_parts(
    parts: Sequence[Part], plan: Plan, say: Callable[[str], None]
) -> dict[str, PartResult]:
    """Runs parts, those that measure periods first and together; what each found, by name."""
    results: dict[str, PartResult] = {}
    together = [part for part in parts if isinstance(part, PeriodPart)]
    if together:
        say(f"parts {', '.join(part.name for part in together)}: {plan.rounds} rounds")
        rounds = take_rounds(
            plan.tools,
            plan.setting,
            plan.rounds,
            lambda: {part.name: part.measure(plan) for part in together},
        )
        results = {part.name: part.evaluate(plan, rounds.only(part.name)) for part in together}
    for part in parts:
        if isinstance(part, OwnPart):
            say(f"part {part.number}: {part.name}")
            results[part.name] = part.run(plan)
    return {part.name: results[part.name] for part in parts}


def all_parts() -> tuple[Part, ...]:
    """Every part, by number."""
    parts: list[Part] = [
        importlib.import_module(f"{__name__}.{module.name}").PART
        for module in pkgutil.iter_modules(__path__)
    ]
    return tuple(sorted(parts, key=lambda part: part.number))
