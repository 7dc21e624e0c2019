"""Part 2: run time of each BPF program: with warm and with cold caches, and where the CPU is not
watched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bench.bpf_stats import ProgramRuns, bpf_stats, program_names, runs_of
from bench.estimate import Estimate, Floats, estimate, median
from bench.parts import Part, PartResult, Plan, Target
from bench.parts.unwatched import elsewhere
from bench.rounds import announced, order_of
from bench.table import Table, with_interval
from bench.tools import Setting, Tool
from bench.tools.noisetop import OTHER, RECORD
from bench.victim import Load, Victim

LOADS = (
    Load("ipi warm", "ipi", 20_000, 100),
    Load("ipi cold", "ipi", 5_000, 100, lines=16),
    Load("timer warm", "timer", 20_000, 100),
    Load("timer cold", "timer", 5_000, 100, lines=16),
)
ELSEWHERE = (
    Load("ipi, not watched", "ipi", 20_000, 100),
    Load("timer, not watched", "timer", 20_000, 100),
)
"""On a CPU that is not watched; the other one is."""
PEERS = ("bpftrace sums", OTHER)
OTHER_LIMIT = 1.05
SMALLEST_SHARE = 0.8
"""Programs that ran less often than this per disturbance belong to something else, as the tick."""

Deltas = list[dict[str, ProgramRuns]]


@dataclass(slots=True)
class Measured:
    """Rounds of one load under one tool."""

    sent: list[int]
    programs: Deltas

    def names(self) -> list[str]:
        """Programs that ran for the disturbances of the load, the dearest first."""
        every = dict.fromkeys(name for delta in self.programs for name in delta)
        often = [name for name in every if self._share(name) > SMALLEST_SHARE]
        return sorted(often, key=lambda name: -self.per_run(name).value)

    def _share(self, name: str) -> float:
        """Runs for each disturbance, in the middle one of the rounds."""
        rounds = zip(self.programs, self.sent, strict=True)
        shares = [delta[name].runs / sent if name in delta else 0.0 for delta, sent in rounds]
        return float(np.median(shares))

    def per_run(self, name: str) -> Estimate:
        """Nanoseconds per run of a program."""
        rounds = [delta[name] for delta in self.programs if name in delta and delta[name].runs]
        return estimate(median, [part.run_ns / part.runs for part in rounds])

    def costs(self) -> list[float]:
        """Nanoseconds per disturbance, by round: a run of each program that belongs to it."""
        names = self.names()
        return [
            sum(delta[name].run_ns / delta[name].runs for name in names)
            for delta in self.programs
            if all(name in delta and delta[name].runs for name in names)
        ]


@dataclass(frozen=True, slots=True)
class Programs:
    """The part."""

    number: int = 2
    name: str = "programs"
    needs_root: bool = True

    def run(self, plan: Plan) -> PartResult:
        """The statistics lengthen every run by two readings of the clock, so nothing else is
        measured under them."""
        tools = [tool for tool in plan.tools if tool.name in (RECORD, *PEERS)]
        every = {plan.setting: LOADS, elsewhere(plan.setting): ELSEWHERE}
        names = [load.name for loads in every.values() for load in loads]
        results = {tool.name: {name: Measured([], []) for name in names} for tool in tools}
        with bpf_stats():
            for number in announced(plan.rounds):
                for tool in order_of(tools, number):
                    for setting, loads in every.items():
                        measure(tool, setting, plan.victim, loads, results[tool.name])
        ratios = ratios_of(results)
        return PartResult(
            figures={tool: figures_of(loads) for tool, loads in results.items()},
            tables=tuple(table_of(tool, loads) for tool, loads in results.items()),
            ratios=ratios,
            targets=tuple(
                Target(name, one, OTHER_LIMIT) for name, one in ratios.items() if OTHER in name
            ),
        )


def measure(
    tool: Tool,
    setting: Setting,
    victim: Victim,
    loads: Sequence[Load],
    results: Mapping[str, Measured],
) -> None:
    """Adds a round: loads in turn, under one run of the tool."""
    with tool.run(setting) as session:
        pid = session.process.tool_pid()
        names = program_names()
        for load in loads:
            before = runs_of(pid)
            spin = victim.spin(load)
            after = runs_of(pid)
            results[load.name].sent.append(spin.hit_in_all)
            results[load.name].programs.append(by_name(before, after, names))


def by_name(
    before: Mapping[int, ProgramRuns], after: Mapping[int, ProgramRuns], names: Mapping[int, str]
) -> dict[str, ProgramRuns]:
    """What ran in between. The kernel keeps 15 characters of a name: those that share one are
    numbered, in the order in which they were loaded."""
    found: dict[str, ProgramRuns] = {}
    shared: Counter[str] = Counter()
    for number in sorted(before.keys() & after.keys() & names.keys()):
        name = names[number]
        shared[name] += 1
        key = name if shared[name] == 1 else f"{name} {shared[name]}"
        found[key] = after[number].since(before[number])
    return found


def figures_of(loads: Mapping[str, Measured]) -> dict[str, object]:
    """For the JSON file."""
    return {
        load: {
            "per_disturbance_ns": estimate(median, measured.costs()).as_json(),
            "per_run_ns": {name: measured.per_run(name).as_json() for name in measured.names()},
        }
        for load, measured in loads.items()
    }


def ratios_of(results: Mapping[str, Mapping[str, Measured]]) -> dict[str, Estimate]:
    """noisetop's programs against each peer's, per disturbance."""

    def ratio(a: Floats, b: Floats) -> Floats:
        return np.asarray(np.median(a, axis=-1) / np.median(b, axis=-1))

    return {
        f"programs/{load}/{RECORD} : {peer}": estimate(
            ratio, *same_rounds(ours.costs(), theirs.costs())
        )
        for peer in PEERS
        if peer in results and RECORD in results
        for load, ours in results[RECORD].items()
        for theirs in (results[peer][load],)
    }


def same_rounds(*samples: list[float]) -> tuple[list[float], ...]:
    """As many of each; a round in which a load was never met counts for none."""
    rounds = min(map(len, samples))
    return tuple(sample[:rounds] for sample in samples)


def table_of(tool: str, loads: Mapping[str, Measured]) -> Table:
    """A row per program, a column per load."""
    names = sorted({name for measured in loads.values() for name in measured.names()})
    rows = []
    for name in names:
        cells = [
            with_interval(measured.per_run(name), digits=0) if name in measured.names() else "-"
            for measured in loads.values()
        ]
        rows.append((f"`{name}`", *cells))
    totals = [
        with_interval(estimate(median, measured.costs()), digits=0) for measured in loads.values()
    ]
    return Table(
        f"BPF programs of {tool}, ns per run",
        ("program", *loads),
        (*rows, ("all, per disturbance", *totals)),
        "By the kernel's statistics, over all CPUs; their own cost is in the figures. Cold: the "
        "victim walks through 32 MiB between two disturbances, of which there are 5000 per second. "
        "Not watched: the tool watches the other CPU.",
    )


PART: Part = Programs()
