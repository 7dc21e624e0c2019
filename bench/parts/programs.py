"""Part 2: run time of each BPF program, with warm and with cold caches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from bench.bpf_stats import ProgramRuns, bpf_stats, program_names, runs_of
from bench.estimate import Estimate, Floats, estimate, median
from bench.parts import Part, PartResult, Plan
from bench.table import Table, with_interval
from bench.tools import Setting, Tool
from bench.victim import Load, Victim

LOADS = (
    Load("ipi warm", "ipi", 20_000, 100),
    Load("ipi cold", "ipi", 5_000, 100, lines=16),
    Load("timer warm", "timer", 20_000, 100),
    Load("timer cold", "timer", 5_000, 100, lines=16),
)
TOOLS = ("noisetop record", "bpftrace sums")
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
        runs: dict[str, ProgramRuns] = {}
        for delta in self.programs:
            for name, part in delta.items():
                runs[name] = runs.get(name, ProgramRuns(0, 0)).plus(part)
        often = [name for name in runs if runs[name].runs > SMALLEST_SHARE * sum(self.sent)]
        return sorted(often, key=lambda name: -runs[name].run_ns)

    def per_run(self, name: str) -> Estimate:
        """Nanoseconds per run of a program."""
        rounds = [delta[name] for delta in self.programs if delta[name].runs]
        return estimate(median, [part.run_ns / part.runs for part in rounds])

    def per_disturbance(self) -> Estimate:
        """Nanoseconds per disturbance in all programs that belong to it."""

        def total(run_ns: Floats, sent: Floats) -> Floats:
            return np.asarray(np.median(run_ns / sent, axis=-1))

        names = self.names()
        run_ns = [sum(delta[name].run_ns for name in names) for delta in self.programs]
        return estimate(total, run_ns, self.sent)


@dataclass(frozen=True, slots=True)
class Programs:
    """The part."""

    number: int = 2
    name: str = "programs"
    needs_root: bool = True

    def run(self, plan: Plan) -> PartResult:
        """The statistics lengthen every run by two readings of the clock, so nothing else is
        measured under them."""
        results: dict[str, dict[str, Measured]] = {}
        with bpf_stats():
            for tool in plan.tools:
                if tool.name in TOOLS:
                    results[tool.name] = measure(tool, plan.setting, plan.victim, plan.rounds)
        return PartResult(
            figures={tool: figures_of(loads) for tool, loads in results.items()},
            tables=tuple(table_of(tool, loads) for tool, loads in results.items()),
            ratios=ratios_of(results),
        )


def measure(tool: Tool, setting: Setting, victim: Victim, rounds: int) -> dict[str, Measured]:
    """All loads in turn, for so many rounds, under one run of the tool."""
    measured = {load.name: Measured([], []) for load in LOADS}
    with tool.run(setting) as session:
        pid = session.process.tool_pid()
        names = program_names()
        for _ in range(rounds):
            for load in LOADS:
                before = runs_of(pid)
                spin = victim.spin(load)
                after = runs_of(pid)
                measured[load.name].sent.append(spin.hit_in_all)
                measured[load.name].programs.append(by_name(before, after, names))
    return measured


def by_name(
    before: Mapping[int, ProgramRuns], after: Mapping[int, ProgramRuns], names: Mapping[int, str]
) -> dict[str, ProgramRuns]:
    """What ran in between. The kernel keeps 15 characters of a name, so some may share one."""
    found: dict[str, ProgramRuns] = {}
    for number in before.keys() & after.keys() & names.keys():
        total = found.get(names[number], ProgramRuns(0, 0))
        found[names[number]] = total.plus(after[number].since(before[number]))
    return found


def figures_of(loads: Mapping[str, Measured]) -> dict[str, object]:
    """For the JSON file."""
    return {
        load: {
            "per_disturbance_ns": measured.per_disturbance().as_json(),
            "per_run_ns": {name: measured.per_run(name).as_json() for name in measured.names()},
        }
        for load, measured in loads.items()
    }


def ratios_of(results: Mapping[str, Mapping[str, Measured]]) -> dict[str, Estimate]:
    """noisetop's programs against bpftrace's, per disturbance."""
    if any(tool not in results for tool in TOOLS):
        return {}
    ours, peer = (results[tool] for tool in TOOLS)

    def ratio(a: Floats, b: Floats) -> Floats:
        return np.asarray(np.median(a, axis=-1) / np.median(b, axis=-1))

    def costs(measured: Measured) -> Iterable[float]:
        names = measured.names()
        return [
            sum(delta[name].run_ns for name in names) / sent
            for delta, sent in zip(measured.programs, measured.sent, strict=True)
        ]

    return {
        f"programs/{load}/{TOOLS[0]} : {TOOLS[1]}": estimate(
            ratio, list(costs(ours[load])), list(costs(peer[load]))
        )
        for load in ours
    }


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
    totals = [with_interval(measured.per_disturbance(), digits=0) for measured in loads.values()]
    return Table(
        f"BPF programs of {tool}, ns per run",
        ("program", *loads),
        (*rows, ("all, per disturbance", *totals)),
        "By the kernel's statistics, over all CPUs; their own cost is in the figures. Cold: the "
        "victim walks through 32 MiB between two disturbances, of which there are 5000 per second.",
    )


PART: Part = Programs()
