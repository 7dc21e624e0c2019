"""Part 11: what real programs pay: throughput and the 99th percentile of their requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.estimate import Estimate, Floats, estimate
from bench.parts import Part, PartResult, Plan, Target
from bench.parts.program_sets import LOCAL
from bench.rounds import Rounds, take_rounds
from bench.table import Table, with_interval
from bench.tools import Setting, Tool, is_ours
from bench.tools.noisetop import RECORD, Record
from bench.workloads import Place, Work, Workload, all_workloads
from bench.workloads.compile import INTERRUPTED
from noisetop.errors import NoisetopError

REDIS = "redis GET"
LIMITS = {
    (REDIS, RECORD): 0.03,
    (REDIS, LOCAL): 0.01,
    (INTERRUPTED, RECORD): 0.01,
}
"""Of the throughput, by workload and tool."""

Period = dict[str, Work]


@dataclass(frozen=True, slots=True)
class RealPrograms:
    """The part."""

    number: int = 11
    name: str = "real_programs"
    needs_root: bool = True

    def run(self, plan: Plan) -> PartResult:
        """Its own rounds: the programs run on the watched CPU, their clients on the other one."""
        workloads = [one for one in all_workloads() if not one.missing]
        if not workloads:
            raise NoisetopError(f"no program to measure: {all_workloads()[0].install}")
        tools = [*plan.tools]
        if any(tool.name == RECORD for tool in tools):
            tools.append(Record(LOCAL, options=("--local",)))
        with ExitStack() as stack:
            running = started(workloads, plan.setting, stack)

            def measure() -> Period:
                return {name: one() for name, one in running.items()}

            return result_of(take_rounds(tools, plan.setting, plan.rounds, measure), tools)


def started(
    workloads: Sequence[Workload], setting: Setting, stack: ExitStack
) -> dict[str, Callable[[], Work]]:
    """Every workload, in a folder of its own; idle until it is measured."""
    running = {}
    for number, one in enumerate(workloads):
        folder = Path(setting.folder) / f"workload-{number}"
        folder.mkdir()
        place = Place(setting.cpu, setting.housekeeping, folder)
        running[one.name] = stack.enter_context(one.run(place))
    return running


def lost(during: Floats, before: Floats, after: Floats) -> Floats:
    """Share of the throughput that is gone, in the middle one of the pairs."""
    return np.asarray(np.median(1 - during / ((before + after) / 2), axis=-1))


def longer(during: Floats, before: Floats, after: Floats) -> Floats:
    """By what share a percentile grows."""
    return -lost(during, before, after)


Figure = Callable[[Work], float | None]


def samples(rounds: Rounds[Period], tool: str, name: str, figure: Figure) -> list[list[float]]:
    """A figure with the tool, before it and after it; empty where the workload has none."""
    turns = rounds.turns[tool]
    periods = ([t.during for t in turns], [t.before for t in turns], [t.after for t in turns])
    values = [[figure(one[name]) for one in period] for period in periods]
    if any(value is None for period in values for value in period):
        return []
    return [[float(value or 0) for value in period] for period in values]


def result_of(rounds: Rounds[Period], tools: Sequence[Tool]) -> PartResult:
    """What each tool takes from each program."""
    names = list(next(iter(rounds.turns.values()))[0].before)
    throughput: dict[tuple[str, str], Estimate] = {}
    slower: dict[tuple[str, str], Estimate] = {}
    for tool in tools:
        for name in names:
            rates = samples(rounds, tool.name, name, lambda work: work.per_second)
            throughput[name, tool.name] = estimate(lost, *rates)
            if p99 := samples(rounds, tool.name, name, lambda work: work.p99_us):
                slower[name, tool.name] = estimate(longer, *p99)
    labels = {key: f"real_programs/{key[0]}/{key[1]} loses" for key in throughput}
    return PartResult(
        figures={
            name: {tool.name: throughput[name, tool.name].as_json() for tool in tools}
            for name in names
        },
        tables=(
            table_of("Throughput lost, %", throughput, names, tools, rounds),
            table_of("99th percentile longer, %", slower, names, tools, rounds),
        ),
        ratios={labels[key]: one for key, one in throughput.items() if is_ours(key[1])},
        targets=tuple(
            Target(labels[key], throughput[key], limit)
            for key, limit in LIMITS.items()
            if key in throughput
        ),
    )


def table_of(
    title: str,
    found: dict[tuple[str, str], Estimate],
    names: Sequence[str],
    tools: Sequence[Tool],
    rounds: Rounds[Period],
) -> Table:
    """A row for each tool, a column for each program."""
    shown = [name for name in names if any(key[0] == name for key in found)]
    rows = tuple(
        (tool.name, *(with_interval(found[name, tool.name], 0.01, 1) for name in shown))
        for tool in tools
    )
    return Table(
        title,
        ("tool", *shown),
        rows,
        f"Median of {rounds.complete()} pairs with the mean of the periods before and after. The "
        "program runs on the watched CPU, its client on the other one.",
    )


PART: Part = RealPrograms()
