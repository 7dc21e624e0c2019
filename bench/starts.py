"""Held programs in start after start, under one load after the other.

The value of a start is that of its quiet turns. What lies in between starts, the places of
programs and maps, is in none of them, so intervals have to be over starts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bench.estimate import quiet, quiet_difference
from bench.held import Holdable, held
from bench.rounds import Rounds, announced, order_of, samples_of, take_turns
from bench.tools import Setting, Tool
from noisetop.errors import NoisetopError


@dataclass(frozen=True, slots=True)
class TurnLoad:
    """What is measured without and with each set of programs in turns."""

    name: str
    turns: int
    """Of each set in a start."""
    period_ns: Callable[[], float]
    """How long what is disturbed takes, in one short period."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one set in one start under one load."""

    added_ns: float
    without_ns: float
    """Of the periods before and after its turns."""


Costs = dict[str, dict[str, list[Cost]]]
"""By load and set, start by start."""


def take_starts(
    tools: Sequence[Holdable], places: Mapping[Setting, Sequence[TurnLoad]], starts: int
) -> Costs:
    """Starts all tools that many times in each setting, and measures under the loads that go with
    it. The order rotates, so that none is always loaded first. Raises NoisetopError when one
    recorded nothing in a start, although it should."""
    costs: Costs = {load.name: {} for loads in places.values() for load in loads}
    for number in announced(starts):
        for setting, loads in places.items():
            with held(order_of(tools, number), setting) as programs:
                taken = {
                    load.name: take_turns(programs, setting, load.turns, load.period_ns)
                    for load in loads
                }
            check_recorded(taken, tools)
            for name, rounds in taken.items():
                for tool in tools:
                    costs[name].setdefault(tool.name, []).append(cost_of(rounds, tool.name))
    return costs


def cost_of(rounds: Rounds[float], tool: str) -> Cost:
    """The value of a start: its quiet turns and the quiet periods around them."""
    during, before, after = map(np.array, samples_of(rounds, tool))
    return Cost(float(quiet_difference(during, before, after)), float(quiet(before, after)))


def check_recorded(taken: Mapping[str, Rounds[float]], tools: Sequence[Tool]) -> None:
    """Raises NoisetopError for a tool whose programs recorded nothing under any load."""
    for tool in tools:
        turns = [turn for rounds in taken.values() for turn in rounds.turns[tool.name]]
        if tool.per_interruption and not any(turn.seen.events for turn in turns):
            raise NoisetopError(f"{tool.name} recorded nothing: its figures would be worthless")
