"""What was not traced because the user asked for less, and what is unknown without it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from noisetop.checked_json import finite
from noisetop.counters.section import Brief, Reader, Section, TraceReadings
from noisetop.text.sanitize import printable
from noisetop.text.units import format_ns

LOCAL = "local"
"""Nothing ran on unwatched CPUs only to explain: who acted is not known."""
CHEAP = "cheap"
"""Callbacks were not traced: interrupts and softirqs are told by vector and number."""
BUDGET = "budget"
"""As much of that, in the order of STEPS, as a budget asked for."""
TIMERS = "timers"
"""Functions of timers and tasklets, and who arms timers."""
STEPS = (TIMERS, CHEAP)
"""What a budget leaves out, one after the other. The last one is the functions of interrupts:
together they are what CHEAP leaves out."""

_MOST_NS = 1 << 62
"""No duration that is taken is longer."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The time that tracing may add to an interruption, and what was done to keep it."""

    limit_ns: int = 0
    """0: there is none."""
    steps: tuple[str, ...] = ()
    """The first ones of STEPS."""
    added_ns: tuple[tuple[str, float], ...] = ()
    """Expected, by class of the interruption: an estimate from a measurement on this machine."""

    def __bool__(self) -> bool:
        """Whether there is one."""
        return bool(self.limit_ns)

    @property
    def most(self) -> tuple[str, float]:
        """The class to which most is added, and how much in ns."""
        return max(self.added_ns, key=lambda one: one[1], default=("", 0.0))

    def as_dict(self) -> dict[str, object]:
        """For JSON and files."""
        added = {name: round(ns, 1) for name, ns in self.added_ns}
        return {"limit_ns": self.limit_ns, "steps": list(self.steps), "added_ns": added}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Budget:
        """Reads as_dict(). Raises TypeError or ValueError for what it did not write."""
        limit_ns, added = stored.get("limit_ns", 0), dict(stored.get("added_ns") or {})
        steps = tuple(stored.get("steps", ()))
        if type(limit_ns) is not int or any(type(ns) not in (int, float) for ns in added.values()):
            raise TypeError("a budget that is no number of ns")
        if not all(0 <= ns <= _MOST_NS for ns in (limit_ns, *added.values())):
            raise ValueError("a budget that nobody gave")
        if steps != STEPS[: len(steps)]:
            raise ValueError("an unknown step of a budget")
        return cls(limit_ns, steps, tuple((str(name), finite(ns)) for name, ns in added.items()))


NO_BUDGET = Budget()


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Which options left something out, and what nobody can tell because of them."""

    options: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    budget: Budget = NO_BUDGET
    """Perhaps one that nothing had to be left out for."""

    def __bool__(self) -> bool:
        """Whether anything was left out."""
        return bool(self.options)

    @property
    def reduced(self) -> frozenset[str]:
        """How the records have to be read: LOCAL, and of STEPS those that were left out."""
        steps = STEPS if CHEAP in self.options else self.budget.steps
        return frozenset(steps) | {LOCAL}.intersection(self.options)

    def as_dict(self) -> dict[str, object]:
        """For JSON and files."""
        budget = {"budget": self.budget.as_dict()} if self.budget else {}
        return {"options": list(self.options), "unknown": list(self.unknown), **budget}


NOTHING = LeftOut()


class LeftOutSection(Section[LeftOut, LeftOut]):
    """Known before the programs are attached."""

    rank = 32
    head = "left out"

    def open(self, trace: TraceReadings) -> Reader[LeftOut]:
        """Part of Section."""
        return Reader(lambda: trace.left_out)

    def between(self, before: LeftOut, after: LeftOut, start_ns: int, end_ns: int) -> LeftOut:
        """It does not change."""
        return after

    def none(self) -> LeftOut:
        """Everything was traced."""
        return NOTHING

    def part(self, value: LeftOut, start_ns: int, end_ns: int) -> LeftOut:
        """Part of Section."""
        return value

    def to_file(self, value: LeftOut) -> dict[str, Any]:
        """Part of Section."""
        return {"left_out": value.as_dict()} if value or value.budget else {}

    def from_file(self, content: Mapping[str, Any]) -> LeftOut:
        """Part of Section."""
        stored = dict(content.get("left_out") or {})
        options, unknown = stored.get("options", ()), stored.get("unknown", ())
        budget = Budget.from_dict(dict(stored.get("budget") or {}))
        return LeftOut(tuple(map(str, options)), tuple(map(str, unknown)), budget)

    def as_dict(self, value: LeftOut) -> dict[str, object]:
        """Part of Section."""
        return {"left_out": value.as_dict()}

    def brief(self, value: LeftOut, duration_ns: int) -> Brief:
        """Part of Section."""
        options = [f"--{option}" for option in value.options if option != BUDGET]
        if value.budget:
            options.append(f"--budget of {format_ns(value.budget.limit_ns)}")
        if not options:
            return Brief("")
        unknown = f"unknown are {', '.join(value.unknown)}" if value else "nothing is left out"
        return Brief(printable(f"{' '.join(options)}: {unknown}{_kept(value.budget)}"))


def _kept(budget: Budget) -> str:
    """What the budget comes to, as the end of a line."""
    if not budget:
        return ""
    what, most_ns = budget.most
    added = f"adds about {format_ns(most_ns)} to an interruption ({what}), or less"
    if most_ns <= budget.limit_ns:
        return f"; {added}"
    return f"; more than the budget, as the least that can be traced {added}"


LEFT_OUT = SECTION = LeftOutSection()
