"""Part 13: what a softirq, a timer and a wake-up with its switch cost a program, on the watched CPU
and on another one, beside noisetop and beside its peers.

A program that talks to others pays this with each message, and tracepoints are hit on every CPU.
Complete tools are compared here. The floor of empty programs and the other sets are in part 10,
which measures the same exchanges with held programs and has the targets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

from bench.estimate import Estimate, estimate, quiet, quiet_difference, ratio_of_differences
from bench.exchanges import KINDS, SINGLE_PERCENTILE, STEADY_PERCENTILE, running_exchanges
from bench.parts import Part, PartResult, Plan
from bench.rounds import Rounds, samples_of, take_rounds
from bench.table import Table, with_interval
from bench.tools import Tool, is_ours

WATCHED, UNWATCHED = "watched", "unwatched"
PLACES = tuple(f"{kind}-{where}" for kind in KINDS for where in (WATCHED, UNWATCHED))

Added = Mapping[str, Mapping[str, Estimate]]
"""By place and tool, in ns."""


@dataclass(frozen=True, slots=True)
class ExchangeCost:
    """The part."""

    number: int = 13
    name: str = "exchanges"
    needs_root: bool = True

    def run(self, plan: Plan) -> PartResult:
        """Its own rounds, with a program on either CPU, of which one runs at a time."""
        cpus = {WATCHED: plan.setting.cpu, UNWATCHED: plan.setting.housekeeping}
        with ExitStack() as stack:
            programs = {
                where: stack.enter_context(running_exchanges(cpu, plan.setting.folder))
                for where, cpu in cpus.items()
            }

            def measure() -> dict[str, float]:
                return {
                    f"{kind}-{where}": one.round_trip_ns(kind)
                    for kind in KINDS
                    for where, one in programs.items()
                }

            rounds = take_rounds(plan.tools, plan.setting, plan.rounds, measure)
            return result_of(rounds, plan.tools)


def result_of(rounds: Rounds[dict[str, float]], tools: Iterable[Tool]) -> PartResult:
    """What each tool adds, and noisetop against the others that see the same."""
    blind_to = {tool.name: tool.blind_to for tool in tools}
    parts: dict[str, Rounds[float]] = {place: rounds.only(place) for place in PLACES}
    added = {
        place: {t: estimate(quiet_difference, *samples_of(part, t)) for t in part.turns}
        for place, part in parts.items()
    }
    ratios = {
        f"exchanges/{place}/{ours} : {other}": estimate(
            ratio_of_differences, *samples_of(part, ours), *samples_of(part, other)
        )
        for place, part in parts.items()
        for ours in filter(is_ours, part.turns)
        for other in part.turns
        if not is_ours(other) and place.partition("-")[0] not in blind_to[other]
    }
    return PartResult(
        figures={
            place: {tool: {"added_ns": one.as_json()} for tool, one in by_tool.items()}
            for place, by_tool in added.items()
        },
        tables=(added_table(added, parts), ratio_table(ratios)),
        ratios=ratios,
    )


def added_table(added: Added, parts: Mapping[str, Rounds[float]]) -> Table:
    """A row for each tool, and one for what there is without any."""
    tools = list(added[PLACES[0]])
    without = [
        with_interval(estimate(quiet, *samples_of(part, tools[0])[1:]), digits=0)
        for part in parts.values()
    ]
    rows = [
        (tool, *(with_interval(added[place][tool], digits=0) for place in PLACES)) for tool in tools
    ]
    return Table(
        "Added to a round trip, ns",
        ("tool", *PLACES),
        (("none: the round trip", *without), *rows),
        "A datagram over loopback raises one softirq; a timer is armed, and its interrupt comes at "
        "once; a byte through a pipe to another thread and back is two wake-ups and two switches. "
        f"{STEADY_PERCENTILE}th percentile of blocks, and of single timers the "
        f"{SINGLE_PERCENTILE}nd, in the quiet ones of {parts[PLACES[0]].complete()} rounds. What "
        "the threads of a tool take is not in it.",
    )


def ratio_table(ratios: Mapping[str, Estimate]) -> Table:
    """noisetop over each other, a row for each pair."""
    pairs = dict.fromkeys(name.rpartition("/")[2] for name in ratios)
    return Table(
        "Added to a round trip, noisetop : other",
        ("ratio", *PLACES),
        tuple(
            (pair, *(_ratio(ratios.get(f"exchanges/{place}/{pair}")) for place in PLACES))
            for pair in pairs
        ),
    )


def _ratio(known: Estimate | None) -> str:
    return with_interval(known) if known else "cannot see it"


PART: Part = ExchangeCost()
