"""Part 11: what real programs pay: throughput and the 99th percentile of their requests."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.estimate import Estimate, Floats, estimate
from bench.parts import Part, PartResult, Plan, Target
from bench.parts.program_sets import LOCAL
from bench.rounds import Rounds, take_rounds
from bench.table import Table, with_interval
from bench.tools import Tool, is_ours
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

_SETTLE_S = 0.3
"""After a tool has started or stopped: what it does then is not what it takes as it runs."""

Found = dict[str, Rounds[Work]]
"""By workload."""


@dataclass(frozen=True, slots=True)
class RealPrograms:
    """The part."""

    number: int = 11
    name: str = "real_programs"
    needs_root: bool = True

    def run(self, plan: Plan) -> PartResult:
        """Its own rounds, for one program after the other: so what is compared lies a second or two
        apart, not as long as all of them take. The programs run on the watched CPU, their clients
        on the other one."""
        chosen = [one for one in all_workloads() if not plan.programs or one.name in plan.programs]
        workloads = [one for one in chosen if not one.missing]
        if not workloads:
            raise NoisetopError(f"no program to measure: {chosen[0].install}")
        tools = [*plan.tools]
        if any(tool.name == RECORD for tool in tools):
            tools.append(Record(LOCAL, options=("--local",)))
        return result_of({one.name: rounds_of(one, plan, tools) for one in workloads}, tools)


def rounds_of(workload: Workload, plan: Plan, tools: Sequence[Tool]) -> Rounds[Work]:
    """One workload without and with each tool, in a folder of its own."""
    print(f"bench: {workload.name}", file=sys.stderr)
    cpus = plan.setting.cpu, plan.setting.housekeeping
    with (
        tempfile.TemporaryDirectory(dir=plan.setting.folder) as name,
        workload.run(Place(*cpus, Path(name))) as work,
    ):

        def measure() -> Work:
            time.sleep(_SETTLE_S)
            return work()

        work()  # the first requests find caches and tables as nobody finds them later
        return take_rounds(tools, plan.setting, plan.rounds, measure)


def lost(during: Floats, before: Floats, after: Floats) -> Floats:
    """Share of the throughput that is gone, in the middle one of the pairs."""
    return np.asarray(np.median(1 - during / ((before + after) / 2), axis=-1))


def longer(during: Floats, before: Floats, after: Floats) -> Floats:
    """By what share a percentile grows."""
    return -lost(during, before, after)


Figure = Callable[[Work], float | None]


def samples(rounds: Rounds[Work], tool: str, figure: Figure) -> list[list[float]]:
    """A figure with the tool, before it and after it; empty where the workload has none."""
    turns = rounds.turns[tool]
    periods = ([t.during for t in turns], [t.before for t in turns], [t.after for t in turns])
    values = [[figure(one) for one in period] for period in periods]
    if any(value is None for period in values for value in period):
        return []
    return [[float(value or 0) for value in period] for period in values]


def result_of(found: Found, tools: Sequence[Tool]) -> PartResult:
    """What each tool takes from each program."""
    names = list(found)
    throughput: dict[tuple[str, str], Estimate] = {}
    slower: dict[tuple[str, str], Estimate] = {}
    for name, rounds in found.items():
        for tool in tools:
            rates = samples(rounds, tool.name, lambda work: work.per_second)
            throughput[name, tool.name] = estimate(lost, *rates)
            if p99 := samples(rounds, tool.name, lambda work: work.p99_us):
                slower[name, tool.name] = estimate(longer, *p99)
    pairs = min(rounds.complete() for rounds in found.values())
    labels = {key: f"real_programs/{key[0]}/{key[1]} loses" for key in throughput}
    return PartResult(
        figures={
            name: {tool.name: throughput[name, tool.name].as_json() for tool in tools}
            for name in names
        },
        tables=(
            table_of("Throughput lost, %", throughput, names, tools, pairs),
            table_of("99th percentile longer, %", slower, names, tools, pairs),
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
    pairs: int,
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
        f"Median of {pairs} pairs with the mean of the periods before and after. The "
        "program runs on the watched CPU, its client on the other one.",
    )


PART: Part = RealPrograms()
