"""Part 5: what the dashboard costs: CPU time, memory, wake-ups, first frame."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.estimate import Estimate, Floats, estimate
from bench.parts import Part, PartResult, Plan, Target
from bench.table import Table, with_interval
from bench.terminal import COLUMNS, LINES, TerminalProgram, Used, on_terminal, take_for

SIZES = ((2, 40, 0.02), (32, 40, None), (128, 30, 0.05))
"""CPUs, sources on each, and the share of a CPU that it may take at one sample a second."""
OPEN = {"heat map": b"m", "flame graph": b"f"}
"""Panels that are measured over the smallest size, and the keys that open them."""
OPEN_LIMIT = 0.025
LIVE = "live, one CPU watched"
LIVE_LIMIT = 0.02
"""Of everything, tracing and reading included."""
FIRST_WORDS = b"noisetop"
SETTLED_S = 3
STARTED_S = 7
"""The made-up samples are made before the first frame, and Textual settles after some."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one dashboard."""

    share: Estimate
    """Of one CPU."""
    wakeups: Estimate
    """Per second."""
    written: Estimate
    """Bytes to the terminal per second."""
    peak_bytes: int
    first_frame_ns: int


@dataclass(frozen=True, slots=True)
class Measured:
    """A dashboard to measure."""

    name: str
    """What the tables call it."""
    argv: list[str]
    limit: float | None
    """Share of a CPU; None: none is set."""
    keys: bytes = b""
    """Pressed once it has started."""


@dataclass(frozen=True, slots=True)
class Dashboard:
    """The part."""

    number: int = 5
    name: str = "dashboard"
    needs_root: bool = False

    def run(self, plan: Plan) -> PartResult:
        """All sizes side by side, a second being a round: each draws once a second."""
        dashboards = dashboards_of(plan)
        with ExitStack() as stack:
            programs = {
                one.name: stack.enter_context(on_terminal(one.argv, plan.setting.housekeeping))
                for one in dashboards
            }
            every = list(programs.values())
            take_for(every, STARTED_S, FIRST_WORDS)
            for one in dashboards:
                programs[one.name].press(one.keys)
            take_for(every, SETTLED_S, FIRST_WORDS)
            used = [[program.used() for program in every]]
            for _ in range(plan.rounds):
                take_for(every, 1, FIRST_WORDS)
                used.append([program.used() for program in every])
            costs = {
                name: cost_of(program, [row[place] for row in used])
                for place, (name, program) in enumerate(programs.items())
            }
        return result_of(costs, dashboards, plan.rounds)


def name_of(cpus: int, sources: int) -> str:
    """What the tables call a size."""
    return f"{cpus} CPUs with {sources} sources each"


def dashboards_of(plan: Plan) -> list[Measured]:
    """What to run; the real program where that is allowed."""
    found = []
    for cpus, sources, limit in SIZES:
        argv = [
            *(sys.executable, "-m", "bench.made_up_feed"),
            *("--cpus", str(cpus), "--sources", str(sources)),
        ]
        name = name_of(cpus, sources)
        found.append(Measured(name, argv, limit))
        if cpus == SIZES[0][0]:
            found += [
                Measured(f"{name}, {panel}", argv, OPEN_LIMIT, keys) for panel, keys in OPEN.items()
            ]
    if os.geteuid() == 0:
        program = str(Path(sys.executable).with_name("noisetop"))
        found.append(Measured(LIVE, [program, "-c", str(plan.setting.cpu)], LIVE_LIMIT))
    return found


def cost_of(program: TerminalProgram, used: list[Used]) -> Cost:
    """From what was used up to each second."""

    def rate(amounts: Floats, seconds: Floats) -> Floats:
        return np.asarray(amounts.sum(axis=-1) / seconds.sum(axis=-1))

    def of(figure: str) -> Estimate:
        amounts = np.diff([getattr(one, figure) for one in used])
        return estimate(rate, amounts, np.diff([one.time_ns for one in used]) / 1e9)

    cpu_ns = of("cpu_ns")
    return Cost(
        share=Estimate(cpu_ns.value / 1e9, cpu_ns.low / 1e9, cpu_ns.high / 1e9),
        wakeups=of("switches"),
        written=of("written_bytes"),
        peak_bytes=program.peak_bytes(),
        first_frame_ns=program.first_frame_ns or 0,
    )


def result_of(costs: dict[str, Cost], dashboards: list[Measured], rounds: int) -> PartResult:
    """Targets by size; the ratio is between sizes, as seconds of one machine say little."""
    limits = {one.name: one.limit for one in dashboards if one.limit}
    targets = tuple(
        Target(f"dashboard/{name}, share of a CPU", costs[name].share, limit)
        for name, limit in limits.items()
    )
    figures: dict[str, object] = {
        name: {
            "share": cost.share.as_json(),
            "wakeups_per_second": cost.wakeups.as_json(),
            "terminal_bytes_per_second": cost.written.as_json(),
            "peak_bytes": cost.peak_bytes,
            "first_frame_ns": cost.first_frame_ns,
        }
        for name, cost in costs.items()
    }
    # Against the target, which is a share already: 1 is where it would be missed.
    ratios = {
        f"dashboard/{name} : target": Estimate(
            costs[name].share.value / limit,
            costs[name].share.low / limit,
            costs[name].share.high / limit,
        )
        for name, limit in limits.items()
    }
    return PartResult(figures, (table_of(costs, rounds),), ratios, targets)


def table_of(costs: dict[str, Cost], rounds: int) -> Table:
    """A row per size."""
    rows = tuple(
        (
            name,
            with_interval(cost.share, 0.01),
            with_interval(cost.wakeups, digits=0),
            with_interval(cost.written, 1000, 1),
            f"{cost.peak_bytes / (1 << 20):.0f}",
            f"{cost.first_frame_ns / 1e9:.2f}",
        )
        for name, cost in costs.items()
    )
    return Table(
        "The dashboard at one sample a second",
        (
            "dashboard",
            "% of a CPU",
            "wake-ups per s",
            "kB/s to the terminal",
            "peak MiB",
            "first frame after, s",
        ),
        rows,
        f"All of them at the same time on one CPU, for {rounds} s, on terminals of {COLUMNS} by "
        f"{LINES}. Every figure of every source of the made-up samples changes each second; making "
        "them is in the time to their first frame, and starting all at once is in all.",
    )


PART: Part = Dashboard()
