"""Part 12: instructions that a tracer adds to an event, on the newest kernel, in emulation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench import emulation
from bench.emulation import CPU, NOTHING, Counted, Traced
from bench.estimate import Estimate, Floats, estimate, median
from bench.parts import Part, PartResult, Plan
from bench.parts.program_sets import SETS
from bench.table import Table
from bench.tools import Tool
from bench.tools.empty_programs import FLOOR, compiled
from bench.tools.noisetop import OTHER, RECORD, Record

_LIFETIME = "1h"
"""Of virtual time: it is told to end."""
_READY = "recording CPU"
_EVENTS = {
    "ipi": "`membarrier`, and the IPI that it waits for",
    "timer": "interrupt of a timer of the CPU's own",
    "softirq": "packet over loopback",
    "switch": "switch of threads",
}
"""By its name in events.c."""


@dataclass(frozen=True, slots=True)
class Instructions:
    """The part."""

    number: int = 12
    name: str = "instructions"
    needs_root: bool = False

    def obstacle(self) -> str:
        """Part of ObstructedPart."""
        return emulation.obstacle()

    def run(self, plan: Plan) -> PartResult:
        """Boots once, whatever the number of rounds: another time the same is counted."""
        others = [tool for tool in plan.tools if tool.name == OTHER]
        with emulation.new_folder() as folder:
            return result_of(emulation.count(folder, traced([*SETS, *others], folder)))


def traced(tools: Sequence[Tool], folder: Path) -> list[Traced]:
    """How the guest starts them; ``folder``: for what has to be built."""
    found = []
    for tool in tools:
        if tool is FLOOR:
            command = tuple(map(str, compiled(folder, CPU)))
            found.append(Traced(tool.name, command, "attached"))
        elif isinstance(tool, Record):
            output = ("-d", _LIFETIME, "-o", "/tmp/noise.noisetop", "--force")
            command = (*tool.command, "record", "-c", str(CPU), *tool.options, *output)
            found.append(Traced(tool.name, command, _READY))
    return found


def added(during: Floats, without: Floats) -> Floats:
    """Instructions, in the middle one of the batches: most hold no tick, and are the same."""
    return median(during) - median(without)


def share(during: Floats, without: Floats) -> Floats:
    """What is added, by what the event takes without it."""
    return np.asarray(added(during, without) / median(without))


def against(during: Floats, other: Floats, without: Floats) -> Floats:
    """What one adds, by what another one adds."""
    return np.asarray(added(during, without) / added(other, without))


def result_of(counted: Counted) -> PartResult:
    """What each tracer adds to each kind of event."""
    counts = counted.instructions
    without = counts[NOTHING]
    figures = {
        name: {kind: estimate(added, batches, without[kind]) for kind, batches in mine.items()}
        for name, mine in counts.items()
        if name != NOTHING
    }
    ratios = {
        f"instructions/{kind}/{RECORD} : {NOTHING}": estimate(share, batches, without[kind])
        for kind, batches in counts[RECORD].items()
    }
    if OTHER in counts:
        ratios |= {
            f"instructions/{kind}/{RECORD} : {OTHER}": estimate(
                against, batches, counts[OTHER][kind], without[kind]
            )
            for kind, batches in counts[RECORD].items()
        }
    alone = {kind: estimate(median, batches) for kind, batches in without.items()}
    return PartResult(
        figures={
            "kernel": counted.kernel,
            NOTHING: {kind: one.as_json() for kind, one in alone.items()},
            **{
                name: {kind: {"added": one.as_json()} for kind, one in mine.items()}
                for name, mine in figures.items()
            },
        },
        tables=(table_of(alone, figures, counted.kernel),),
        ratios=ratios,
    )


def table_of(
    alone: dict[str, Estimate], figures: dict[str, dict[str, Estimate]], kernel: str
) -> Table:
    """A row for each kind of event, a column for each tracer."""
    return Table(
        "Instructions added to an event",
        ("event", "instructions without it", *figures),
        tuple(
            (
                _EVENTS[kind],
                f"{one.value:.0f}",
                *(f"{mine[kind].value:.0f}" for mine in figures.values()),
            )
            for kind, one in alone.items()
        ),
        f"Linux {kernel} (Debian) in QEMU, which counts them; two CPUs, of which one is watched. "
        "Those of both CPUs: what the sender of an IPI pays is in it. One boot, as another one "
        "counts the same within 0.1 %.",
    )


PART: Part = Instructions()
