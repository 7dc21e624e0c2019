"""Part 7: whether an event costs more where there is more of everything: it must not."""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from bench.estimate import QUIET_PERCENTILE, Estimate, Floats, estimate, median, quiet_difference
from bench.made_up_recording import Size, write_made_up
from bench.parts import Part, PartResult, Plan, Target
from bench.parts.added_time import STEADY_PERCENTILE
from bench.rounds import Rounds, announced, samples_of, take_rounds
from bench.table import Table, with_interval
from bench.tools import Setting, Tool
from bench.tools.noisetop import Record
from bench.victim import Load, Victim, quietest_ns, running_victim
from noisetop.recording.raw_file import read_spool
from noisetop.summary.worst import summarize_with_worst

LOAD = Load("ipi-20k", "ipi", 20_000, 60)
SLEEPERS = 1_000
RECORDS = 200_000
BASE = Size(RECORDS)
SIZES = {
    "2 CPUs, 41 sources, 8 victims": BASE,
    "32 CPUs": replace(BASE, cpus=32),
    "128 CPUs": replace(BASE, cpus=128),
    "401 sources": replace(BASE, functions=200),
    "2001 sources": replace(BASE, functions=1_000),
    "100 victims": replace(BASE, victims=100),
    "1000 victims": replace(BASE, victims=1_000),
}
"""Each differs from the first one in one thing."""
LONGER = 5
"""How many times as many records there are in a second recording of each size: what a record costs
is the difference, as a source and who caused it are named once, however often they come."""
LIMIT = 1.5
_WORST = 10


@dataclass(frozen=True, slots=True)
class Growth:
    """The part."""

    number: int = 7
    name: str = "growth"
    needs_root: bool = False

    def run(self, plan: Plan) -> PartResult:
        """The kernel side where that is allowed, then reading."""
        added = measure_kernel(plan) if os.geteuid() == 0 else {}
        return result_of(added, measure_reading(plan), plan.rounds)


def variants(setting: Setting, small: int, large: int) -> dict[str, tuple[Tool, bool]]:
    """Ways to watch the victim, each with whether it is the large one."""
    both = ",".join(map(str, replace(setting, everywhere=True).recorded))
    targets = {
        "one CPU": (("-c", str(setting.cpu)), False),
        "two CPUs": (("-c", both), False),
        "a process of one thread": (("-p", str(small)), False),
        f"a process of {SLEEPERS + 1} threads": (("-p", str(large)), True),
    }
    return {name: (Record(name, target=target), large) for name, (target, large) in targets.items()}


def measure_kernel(plan: Plan) -> dict[str, Rounds[float]]:
    """Rounds for each victim: the gap of the plan's, or of one with many threads."""
    setting = plan.setting
    with running_victim(setting.cpu, setting.housekeeping, setting.folder, SLEEPERS) as large:
        every = variants(setting, plan.victim.asked.process.pid, large.asked.process.pid)
        result: dict[str, Rounds[float]] = {}
        for victim, is_large in ((plan.victim, False), (large, True)):
            tools = [tool for tool, needs_large in every.values() if needs_large == is_large]
            rounds = take_rounds(tools, setting, plan.rounds, partial(gap_of, victim))
            result |= {tool.name: rounds for tool in tools}
        return result


def gap_of(victim: Victim) -> float:
    """The steady percentile of the gaps under the load, in ns."""
    return quietest_ns(victim.spins(LOAD), STEADY_PERCENTILE)


def measure_reading(plan: Plan) -> dict[str, list[float]]:
    """Nanoseconds per record of the report's reading, by size and round."""
    written = {
        name: [write(plan.setting.folder, size, times) for times in (1, LONGER)]
        for name, size in SIZES.items()
    }
    try:
        taken: dict[str, list[float]] = {name: [] for name in SIZES}
        for _ in announced(plan.rounds):
            for name, ((short, few), (long, many)) in written.items():
                taken[name].append((reading_ns(long) - reading_ns(short)) / (many - few))
        return taken
    finally:
        for recordings in written.values():
            for path, _ in recordings:
                path.unlink()


def reading_ns(path: Path) -> int:
    """CPU time of one reading."""
    began = time.process_time_ns()
    summarize_with_worst(read_spool(path), _WORST)
    return time.process_time_ns() - began


def write(folder: Path, size: Size, times: int) -> tuple[Path, int]:
    """A recording so many times as long as its size says, and the records in it."""
    descriptor, name = tempfile.mkstemp(".noisetop", dir=folder)
    os.close(descriptor)
    return Path(name), write_made_up(Path(name), replace(size, records=times * size.records))


def result_of(
    added: dict[str, Rounds[float]], reading: dict[str, list[float]], rounds: int
) -> PartResult:
    """Everything against the smallest of its kind."""

    def ratio(large: Floats, base: Floats) -> Floats:
        return np.asarray(np.median(large, axis=-1) / np.median(base, axis=-1))

    smallest = next(iter(reading))
    ratios = {
        f"growth/reading, {name} : {smallest}": estimate(ratio, taken, reading[smallest])
        for name, taken in reading.items()
        if name != smallest
    }
    kernel = {
        name: estimate(quiet_difference, *samples_of(turns, name)) for name, turns in added.items()
    }
    ns_per_record = {name: estimate(median, taken) for name, taken in reading.items()}
    return PartResult(
        figures={
            "added_ns": {name: one.as_json() for name, one in kernel.items()},
            "reading_ns_per_record": {name: one.as_json() for name, one in ns_per_record.items()},
        },
        tables=tables_of(kernel, ns_per_record, ratios, rounds),
        ratios=ratios,
        targets=tuple(Target(name, one, LIMIT) for name, one in ratios.items()),
    )


def tables_of(
    kernel: dict[str, Estimate],
    reading: dict[str, Estimate],
    ratios: dict[str, Estimate],
    rounds: int,
) -> tuple[Table, ...]:
    """Two kinds of growth."""
    watched = tuple((name, with_interval(one, 1000)) for name, one in kernel.items())
    smallest = next(iter(reading))
    sizes = tuple(
        (
            name,
            with_interval(one, digits=0),
            with_interval(ratios[key])
            if (key := f"growth/reading, {name} : {smallest}") in ratios
            else "1",
        )
        for name, one in reading.items()
    )
    tables = (
        Table(
            f"Added time per interruption under {LOAD.name}, by what is watched",
            ("noisetop record of", "added, µs"),
            watched,
            f"{QUIET_PERCENTILE}th percentile of {rounds} rounds.",
        ),
        Table(
            "CPU time of a report per record, by what was recorded",
            ("made-up recording", "ns per record", f"against {smallest}"),
            sizes,
            f"By the difference between {RECORDS} and {LONGER} times as many, as naming a "
            "source takes some 40 µs once; all but the first differ from it in what they say.",
        ),
    )
    return tables if kernel else tables[1:]


PART: Part = Growth()
