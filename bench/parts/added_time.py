"""Part 1: the time that a tracer adds to each interruption of the watched CPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.estimate import (
    Estimate,
    estimate,
    quiet,
    quiet_difference,
    ratio_of_differences,
    relative_difference,
)
from bench.parts import Part, PartResult, Plan, Target
from bench.rounds import Rounds
from bench.table import Table, with_interval
from bench.tools import Tool, is_ours
from bench.tools.noisetop import OTHER, RECORD
from bench.victim import Load, Spin, quietest_ns
from noisetop.errors import NoisetopError

STEADY_PERCENTILE = 10
"""Of the gaps that a disturbance hit: on a guest with steal the median wanders, this does not."""

LOADS = (
    Load("ipi-1k", "ipi", 1_000, 80),
    Load("ipi-20k", "ipi", 20_000, 60),
    Load("ipi-100k", "ipi", 100_000, 50),
    Load("timer-1k", "timer", 1_000, 80),
    Load("timer-20k", "timer", 20_000, 60),
    Load("ipi-1k-cold", "ipi", 1_000, 100, lines=16),
)
LIMITS = {"perf record": 0.5, "trace-cmd record": 0.7, "bpftrace sums": 0.7}
GROWTH_LIMIT = 0.04
GROWTH_LOAD = "ipi-20k"
OTHER_LIMIT = 1.5
OTHER_LOADS = ("ipi-20k", "timer-20k")


@dataclass(frozen=True, slots=True)
class Gap:
    """The victim's gaps under one load."""

    steady_ns: float
    median_ns: float
    interruptions: int
    sent: int
    spun_ns: int


Gaps = dict[str, Gap]


def gap_of(spins: Sequence[Spin]) -> Gap:
    """The figures of one turn."""
    return Gap(
        quietest_ns(spins, STEADY_PERCENTILE),
        quietest_ns(spins, 50),
        sum(len(spin.gaps_ns) for spin in spins),
        sum(spin.sent for spin in spins),
        sum(spin.spun_ns for spin in spins),
    )


@dataclass(frozen=True, slots=True)
class Series:
    """A tool under one load: a value per round, and those without a tool around it."""

    during: tuple[float, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]

    @property
    def samples(self) -> tuple[tuple[float, ...], ...]:
        """In the order in which estimates take them."""
        return self.during, self.before, self.after

    def added_ns(self) -> Estimate:
        """Time added to an interruption."""
        return estimate(quiet_difference, *self.samples)

    def growth(self) -> Estimate:
        """The same as a share of the gap without a tool."""
        return estimate(relative_difference, *self.samples)

    def against(self, peer: Series) -> Estimate:
        """Our added time over the peer's."""
        return estimate(ratio_of_differences, *self.samples, *peer.samples)


def series_of(rounds: Rounds[Gaps], tool: str, load: str, figure: str = "steady_ns") -> Series:
    """One figure of a tool under a load, and of the periods before and after."""
    turns = rounds.turns[tool]

    def values(period: str) -> tuple[float, ...]:
        return tuple(getattr(getattr(turn, period)[load], figure) for turn in turns)

    return Series(values("during"), values("before"), values("after"))


def check_seen(rounds: Rounds[Gaps], tools: Sequence[Tool]) -> dict[str, dict[str, object]]:
    """What the tools recorded. Raises NoisetopError when one recorded less than was there.

    A tool that sees half of the events costs half as much, so its figure would be worthless.
    """
    report: dict[str, dict[str, object]] = {}
    for tool in tools:
        shares, lost = [], []
        for turn in rounds.turns[tool.name]:
            sent = sum(
                turn.during[load.name].sent for load in LOADS if load.kind not in tool.blind_to
            )
            if tool.per_interruption:
                shares.append((turn.seen.events + (turn.seen.lost or 0)) / sent)
            elif not turn.seen.events:
                raise NoisetopError(f"{tool.name} recorded nothing: its figures would be worthless")
            lost.append(turn.seen.lost)
        if shares and np.median(shares) < tool.per_interruption:
            raise NoisetopError(
                f"{tool.name} recorded {np.median(shares):.2f} events per interruption, not "
                f"{tool.per_interruption:.0f}: its figures would be worthless"
            )
        known = [count for count in lost if count is not None]
        report[tool.name] = {
            "events_per_interruption": round(float(np.median(shares)), 2) if shares else None,
            "lost_events": sum(known) if known else None,
        }
    return report


@dataclass(frozen=True, slots=True)
class AddedTime:
    """The part."""

    number: int = 1
    name: str = "added_time"
    needs_root: bool = True

    def measure(self, plan: Plan) -> Gaps:
        """Every load in every period, so that all tools meet the same weather."""
        return {load.name: gap_of(plan.victim.spins(load)) for load in LOADS}

    def evaluate(self, plan: Plan, rounds: Rounds[Gaps]) -> PartResult:
        """Tables by load, ratios to the peers first."""
        recorded = check_seen(rounds, plan.tools)
        names = [tool.name for tool in plan.tools]
        ratios = ratios_of(rounds, plan.tools)
        return PartResult(
            figures={"recorded": recorded, "loads": figures_of(rounds, names)},
            tables=(
                ratio_table(rounds, ratios, plan.tools),
                *(load_table(rounds, load, names) for load in LOADS),
            ),
            ratios=ratios,
            targets=targets_of(rounds, ratios, names),
        )


def ratio_name(load: str, ours: str, peer: str) -> str:
    """What the results call a ratio."""
    return f"added_time/{load}/{ours} : {peer}"


def ratios_of(rounds: Rounds[Gaps], tools: Sequence[Tool]) -> dict[str, Estimate]:
    """Ours over each peer's that can see the load."""
    ratios = {}
    for load in LOADS:
        for ours in (tool for tool in tools if is_ours(tool.name)):
            for peer in (tool for tool in tools if not is_ours(tool.name)):
                if load.kind not in peer.blind_to:
                    ratios[ratio_name(load.name, ours.name, peer.name)] = series_of(
                        rounds, ours.name, load.name
                    ).against(series_of(rounds, peer.name, load.name))
    return ratios


def targets_of(
    rounds: Rounds[Gaps], ratios: dict[str, Estimate], names: Sequence[str]
) -> tuple[Target, ...]:
    """The limits that the project sets itself."""
    targets = []
    for ours in filter(is_ours, names):
        for peer, limit in LIMITS.items():
            name = ratio_name(GROWTH_LOAD, ours, peer)
            if name in ratios:
                targets.append(Target(name, ratios[name], limit))
        for load in OTHER_LOADS:
            name = ratio_name(load, ours, OTHER)
            if name in ratios and ours == RECORD:
                targets.append(Target(name, ratios[name], OTHER_LIMIT))
        growth = series_of(rounds, ours, GROWTH_LOAD).growth()
        targets.append(Target(f"added_time/{GROWTH_LOAD}/{ours} growth", growth, GROWTH_LIMIT))
    return tuple(targets)


def figures_of(rounds: Rounds[Gaps], names: Sequence[str]) -> dict[str, object]:
    """Every figure of every round, and the estimates."""
    figures: dict[str, object] = {}
    for load in LOADS:
        by_tool: dict[str, object] = {}
        for name in names:
            steady = series_of(rounds, name, load.name)
            middle = series_of(rounds, name, load.name, "median_ns")
            by_tool[name] = {
                "added_ns": steady.added_ns().as_json(),
                "growth": steady.growth().as_json(),
                "added_median_ns": middle.added_ns().as_json(),
                "during_ns": [round(value) for value in steady.during],
                "before_ns": [round(value) for value in steady.before],
                "after_ns": [round(value) for value in steady.after],
                "sent_per_second": round(sent_per_second(rounds, name, load.name)),
            }
        figures[load.name] = by_tool
    return figures


def sent_per_second(rounds: Rounds[Gaps], name: str, load: str) -> float:
    """Disturbances per second that were reached."""
    gaps = [turn.during[load] for turn in rounds.turns[name]]
    return sum(gap.sent for gap in gaps) / (sum(gap.spun_ns for gap in gaps) / 1e9)


def ratio_table(rounds: Rounds[Gaps], ratios: dict[str, Estimate], tools: Sequence[Tool]) -> Table:
    """Ours over theirs, a row for each pair."""
    rows = []
    for ours in (tool.name for tool in tools if is_ours(tool.name)):
        for peer in (tool.name for tool in tools if not is_ours(tool.name)):
            cells = [
                with_interval(ratios[name]) if name in ratios else "cannot see it"
                for name in (ratio_name(load.name, ours, peer) for load in LOADS)
            ]
            rows.append((f"{ours} : {peer}", *cells))
    return Table(
        "Added time per interruption, noisetop : peer",
        ("ratio", *(load.name for load in LOADS)),
        tuple(rows),
        f"In the quiet ones of {rounds.complete()} rounds, with its 95 % interval; below 1, "
        "noisetop is the quieter one.",
    )


def load_table(rounds: Rounds[Gaps], load: Load, names: Sequence[str]) -> Table:
    """One load: the gap without a tool, and what each tool adds."""
    rows = []
    for name in names:
        steady = series_of(rounds, name, load.name)
        middle = series_of(rounds, name, load.name, "median_ns")
        rows.append(
            (
                name,
                with_interval(estimate(quiet, steady.before, steady.after), 1000),
                with_interval(steady.added_ns(), 1000),
                with_interval(steady.growth(), 0.01, 1),
                with_interval(middle.added_ns(), 1000),
                f"{sent_per_second(rounds, name, load.name):.0f}",
            )
        )
    return Table(
        f"Added time under {load.name}",
        (
            "tool",
            "gap without it, µs",
            "added, µs",
            "growth, %",
            "added to the median, µs",
            f"reached per s, of {load.per_second}",
        ),
        tuple(rows),
    )


PART: Part = AddedTime()
