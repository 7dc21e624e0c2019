"""Part 9: what a tracer adds to interruptions of a CPU that it does not watch.

Tracepoints are hit on every CPU: a tracer that is asked for one CPU may let its programs return at
once on the others, but the kernel still calls them there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bench.estimate import (
    Estimate,
    Floats,
    estimate,
    quiet,
    quiet_difference,
    relative_difference,
)
from bench.parts import Part, PartResult, Plan, Target
from bench.parts.added_time import STEADY_PERCENTILE
from bench.rounds import Rounds, samples_of, take_rounds
from bench.table import Table, with_interval
from bench.tools import Setting, is_ours
from bench.tools.noisetop import RECORD
from bench.victim import Load, quietest_ns

LOAD = Load("timer-1k", "timer", 1_000, 100)
"""What a CPU does by itself: of other interrupts the sender runs elsewhere."""
LIMIT = 1.02
"""How long its gaps may be with a tracer elsewhere, to those without one."""


def elsewhere(setting: Setting) -> Setting:
    """The same, with tools watching the CPU that they run on and not the victim's."""
    return replace(setting, cpu=setting.housekeeping)


@dataclass(frozen=True, slots=True)
class Unwatched:
    """The part."""

    number: int = 9
    name: str = "unwatched"
    needs_root: bool = True

    def run(self, plan: Plan) -> PartResult:
        """Its own rounds: in the others the victim's CPU is watched."""

        def measure() -> float:
            return quietest_ns(plan.victim.spins(LOAD), STEADY_PERCENTILE)

        return result_of(take_rounds(plan.tools, elsewhere(plan.setting), plan.rounds, measure))


def longer(during: Floats, before: Floats, after: Floats) -> Floats:
    """How long gaps are with the tool, 1 being as long as without."""
    return 1 + relative_difference(during, before, after)


def result_of(rounds: Rounds[float]) -> PartResult:
    """What each tool adds, and by how much gaps get longer."""
    added = {t: estimate(quiet_difference, *samples_of(rounds, t)) for t in rounds.turns}
    ratios = {
        f"unwatched/{t} : nothing": estimate(longer, *samples_of(rounds, t))
        for t in rounds.turns
        if is_ours(t)
    }
    without = {t: estimate(quiet, *samples_of(rounds, t)[1:]) for t in rounds.turns}
    return PartResult(
        figures={t: {"added_ns": one.as_json()} for t, one in added.items()},
        tables=(table_of(added, without, rounds.complete()),),
        ratios=ratios,
        targets=tuple(
            Target(name, one, LIMIT) for name, one in ratios.items() if f"/{RECORD} :" in name
        ),
    )


def table_of(added: dict[str, Estimate], without: dict[str, Estimate], rounds: int) -> Table:
    """A row for each tool."""
    return Table(
        f"Added to {LOAD.name} on a CPU that is not watched",
        ("tool", "gap without it, µs", "added, µs"),
        tuple(
            (tool, with_interval(without[tool], 1000), with_interval(one, 1000))
            for tool, one in added.items()
        ),
        f"Tools watch the other CPU; {STEADY_PERCENTILE}th percentile of the gaps that a timer of "
        f"the victim's own CPU made, in the quiet ones of {rounds} rounds.",
    )


PART: Part = Unwatched()
