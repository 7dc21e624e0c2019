"""Part 3: interrupts that a tracer adds to the watched CPU in its steady state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.estimate import Estimate, Floats, estimate, median_difference
from bench.parts import Part, PartResult, Plan
from bench.proc_interrupts import added, is_device, read_interrupts
from bench.rounds import Rounds
from bench.table import Table, with_interval
from bench.tools import is_ours
from bench.victim import Load

LOAD = Load("ipi-20k", "ipi", 20_000, 150)
"""Shorter than the time after which the kernel makes a real-time thread give way to others."""
SENT_ROW = "CAL"
"""Where the kernel counts the IPIs that membarrier sends (x86)."""
ALL_LOCAL = "all but devices"

Rates = dict[str, float]


def rates_of(rows: dict[str, int], hits: int, seconds: float) -> Rates:
    """Interrupts per second by row, without the IPIs of the load itself."""
    rates = {row: count / seconds for row, count in rows.items()}
    rates[SENT_ROW] = rates.get(SENT_ROW, 0.0) - hits / seconds
    rates[ALL_LOCAL] = sum(rate for row, rate in rates.items() if not is_device(row))
    return rates


@dataclass(frozen=True, slots=True)
class AddedInterrupts:
    """The part."""

    number: int = 3
    name: str = "added_interrupts"
    needs_root: bool = True

    def measure(self, plan: Plan) -> Rates:
        """Under a load, as a tool without events has nothing to wake up for."""
        before = read_interrupts(plan.setting.cpu)
        spin = plan.victim.spin(LOAD)
        rows = added(before, read_interrupts(plan.setting.cpu))
        return rates_of(rows, spin.hit_in_all, spin.spun_ns / 1e9)

    def evaluate(self, plan: Plan, rounds: Rounds[Rates]) -> PartResult:
        """The difference that each tool makes, row by row."""
        names = [tool.name for tool in plan.tools]
        rows = rows_of(rounds)
        extra = {name: {row: extra_of(rounds, name, row) for row in rows} for name in names}
        return PartResult(
            figures={
                name: {row: one.as_json() for row, one in by_row.items()}
                for name, by_row in extra.items()
            },
            tables=(table_of(extra, rows, rounds),),
            ratios={
                f"added_interrupts/{name} : nothing": share_of(rounds, name)
                for name in filter(is_ours, names)
            },
        )


def rows_of(rounds: Rounds[Rates]) -> list[str]:
    """Rows that counted anything in any period, the sum first."""
    seen = {
        row
        for turns in rounds.turns.values()
        for turn in turns
        for period in (turn.before, turn.during, turn.after)
        for row, rate in period.items()
        if rate
    }
    return [ALL_LOCAL, *sorted(seen - {ALL_LOCAL}, key=lambda row: (is_device(row), row))]


def samples_of(rounds: Rounds[Rates], name: str, row: str) -> tuple[list[float], list[float]]:
    """Rates with the tool and without it, round by round."""
    turns = rounds.turns[name]
    during = [turn.during.get(row, 0.0) for turn in turns]
    without = [float(np.mean([t.before.get(row, 0.0), t.after.get(row, 0.0)])) for t in turns]
    return during, without


def extra_of(rounds: Rounds[Rates], name: str, row: str) -> Estimate:
    """Interrupts per second that the tool adds to a row."""
    return estimate(median_difference, *samples_of(rounds, name, row))


def share_of(rounds: Rounds[Rates], name: str) -> Estimate:
    """Interrupts of the CPU's own with the tool, over those without."""

    def ratio(during: Floats, without: Floats) -> Floats:
        return np.asarray(np.median(during, axis=-1) / np.median(without, axis=-1))

    return estimate(ratio, *samples_of(rounds, name, ALL_LOCAL))


def table_of(
    extra: dict[str, dict[str, Estimate]], rows: Sequence[str], rounds: Rounds[Rates]
) -> Table:
    """A row per row of /proc/interrupts, a column per tool."""
    cells = (
        (row, *(with_interval(by_row[row], digits=1) for by_row in extra.values())) for row in rows
    )
    return Table(
        "Interrupts added to the watched CPU, per second",
        ("row of /proc/interrupts", *extra),
        tuple(cells),
        f"Median over {rounds.complete()} rounds of the difference to the periods without a tool "
        f"around it, with its 95 % interval; under {LOAD.name}, whose own IPIs are taken out.",
    )


PART: Part = AddedInterrupts()
