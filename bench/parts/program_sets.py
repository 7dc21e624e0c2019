"""Part 10: the sets of programs beside each other, and the floor of empty programs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bench.estimate import Estimate, estimate, quiet
from bench.parts import Part, PartResult, Plan, Target
from bench.parts.added_time import Gaps, gap_of, series_of
from bench.parts.unwatched import LOAD as OWN_TIMER
from bench.parts.unwatched import elsewhere
from bench.rounds import Rounds, take_rounds
from bench.table import Table, with_interval
from bench.tools import Tool
from bench.tools.empty_programs import CHEAP_FLOOR, FLOOR
from bench.tools.noisetop import RECORD, Record
from bench.victim import Load

LOCAL, CHEAP = f"{RECORD} --local", f"{RECORD} --cheap"
SETS: tuple[Tool, ...] = (
    Record(),
    Record(LOCAL, options=("--local",)),
    Record(CHEAP, options=("--cheap",), per_interruption=1.0),
    FLOOR,
    CHEAP_FLOOR,
)
COMPARED = (
    (RECORD, FLOOR.name),
    (LOCAL, RECORD),
    (CHEAP, RECORD),
    (CHEAP, CHEAP_FLOOR.name),
    (CHEAP_FLOOR.name, RECORD),
)
"""The last one is what no set without callbacks can get below."""
WATCHED = (Load("ipi-20k", "ipi", 20_000, 60), Load("timer-20k", "timer", 20_000, 60))
IPIS = WATCHED[0].name
FLOOR_LIMIT, CHEAP_LIMIT = 1.25, 0.7


@dataclass(frozen=True, slots=True)
class ProgramSets:
    """The part."""

    number: int = 10
    name: str = "program_sets"
    needs_root: bool = True

    def run(self, plan: Plan) -> PartResult:
        """Rounds with the victim's CPU watched, and with the other one."""

        def measure(*loads: Load) -> Gaps:
            return {load.name: gap_of(plan.victim.spins(load)) for load in loads}

        watched = take_rounds(SETS, plan.setting, plan.rounds, lambda: measure(*WATCHED))
        unwatched = take_rounds(
            SETS, elsewhere(plan.setting), plan.rounds, lambda: measure(OWN_TIMER)
        )
        return result_of(watched, unwatched)


def result_of(watched: Rounds[Gaps], unwatched: Rounds[Gaps]) -> PartResult:
    """What each set adds, and what that is against the floor and the complete set."""
    where = {load.name: watched for load in WATCHED} | {"unwatched": unwatched}
    ratios = {}
    for name, rounds in where.items():
        load = name if rounds is watched else OWN_TIMER.name
        for one, base in COMPARED:
            against = series_of(rounds, one, load).against(series_of(rounds, base, load))
            ratios[f"program_sets/{name}/{one} : {base}"] = against
    added = {
        name: {
            tool.name: series_of(
                rounds, tool.name, name if rounds is watched else OWN_TIMER.name
            ).added_ns()
            for tool in SETS
        }
        for name, rounds in where.items()
    }
    return PartResult(
        figures={
            name: {tool: {"added_ns": one.as_json()} for tool, one in by_tool.items()}
            for name, by_tool in added.items()
        },
        tables=(table_of(added, watched), ratios_of(ratios, where)),
        ratios=ratios,
        targets=targets_of(ratios),
    )


def targets_of(ratios: dict[str, Estimate]) -> tuple[Target, ...]:
    """What the project sets itself: near the floor, and worth the loss of detail."""
    limits = {
        f"program_sets/{IPIS}/{RECORD} : {FLOOR.name}": FLOOR_LIMIT,
        f"program_sets/unwatched/{RECORD} : {FLOOR.name}": FLOOR_LIMIT,
        f"program_sets/{IPIS}/{CHEAP} : {RECORD}": CHEAP_LIMIT,
    }
    return tuple(Target(name, ratios[name], limit) for name, limit in limits.items())


def ratios_of(ratios: dict[str, Estimate], loads: Iterable[str]) -> Table:
    """A row for each comparison, a column for each load."""
    return Table(
        "Added time, one set : another",
        ("ratio", *loads),
        tuple(
            (
                f"{one} : {base}",
                *(with_interval(ratios[f"program_sets/{load}/{one} : {base}"]) for load in loads),
            )
            for one, base in COMPARED
        ),
        "The last row is what no set that leaves out callbacks can get below.",
    )


def table_of(added: dict[str, dict[str, Estimate]], watched: Rounds[Gaps]) -> Table:
    """A row for each set, a column for each load."""
    base = series_of(watched, RECORD, IPIS)
    gap = with_interval(estimate(quiet, base.before, base.after), 1000)
    return Table(
        "Added time by set of programs, µs",
        ("programs", *(f"{name}" for name in added)),
        tuple(
            (tool.name, *(with_interval(by_tool[tool.name], 1000) for by_tool in added.values()))
            for tool in SETS
        ),
        f"In the quiet ones of {watched.complete()} rounds; a gap under {IPIS} takes {gap} µs "
        f"without them. Unwatched: {OWN_TIMER.name} on a CPU while another one is watched.",
    )


PART: Part = ProgramSets()
