"""Part 8: what the sender of an interrupt pays for being named: the time of its own call."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bench.estimate import Estimate, estimate, quiet, quiet_difference, ratio_of_differences
from bench.parts import Part, PartResult, Plan
from bench.parts.added_time import STEADY_PERCENTILE
from bench.rounds import Rounds, samples_of, take_rounds
from bench.table import Table, with_interval
from bench.tools import Setting, Tool, is_ours, missing_tools
from bench.tools.bpftrace import SENDERS
from bench.tools.noisetop import TOOLS as NOISETOP
from bench.tools.noisetop import WITH_STACKS
from bench.tools.perf import TOOLS as PERF
from bench.tracepoints import Tracepoint
from bench.victim import Load

LOAD = Load("ipi-5k", "ipi", 5_000, 100)
TOOLS = (NOISETOP[0], WITH_STACKS, SENDERS, PERF[0])
SENDING = frozenset({"csd_queue_cpu", "ipi_send_cpu", "ipi_send_cpumask"})
"""The tracepoints that tell who sends."""


def setting_of(setting: Setting, tool: Tool) -> Setting:
    """Peers record the sender's CPU as well, and there no more than what names it; noisetop does
    so without being asked."""
    if is_ours(tool.name):
        return setting
    sending: tuple[Tracepoint, ...] = tuple(t for t in setting.tracepoints if t.name in SENDING)
    return replace(setting, everywhere=True, tracepoints=sending)


@dataclass(frozen=True, slots=True)
class SenderCost:
    """The part."""

    number: int = 8
    name: str = "sender_cost"
    needs_root: bool = True

    def run(self, plan: Plan) -> PartResult:
        """Its own rounds: peers are told to look at the sender here."""
        missing = missing_tools(TOOLS)
        tools = tuple(tool for tool in TOOLS if tool.name not in missing)

        def measure() -> float:
            calls_ns = [spin.calls_ns for spin in plan.victim.spins(LOAD)]
            return min(float(np.percentile(calls, STEADY_PERCENTILE)) for calls in calls_ns)

        rounds = take_rounds(
            tools, lambda tool: setting_of(plan.setting, tool), plan.rounds, measure
        )
        return result_of(rounds)


def result_of(rounds: Rounds[float]) -> PartResult:
    """Ratios of what is added, noisetop first."""
    added = {t: estimate(quiet_difference, *samples_of(rounds, t)) for t in rounds.turns}
    without = {t: estimate(quiet, *samples_of(rounds, t)[1:]) for t in rounds.turns}
    ratios = {
        f"sender_cost/{ours} : {peer}": estimate(
            ratio_of_differences, *samples_of(rounds, ours), *samples_of(rounds, peer)
        )
        for ours in rounds.turns
        if is_ours(ours)
        for peer in rounds.turns
        if not is_ours(peer)
    }
    return PartResult(
        figures={t: {"added_ns": e.as_json()} for t, e in added.items()},
        tables=tables_of(ratios, added, without, rounds.complete()),
        ratios=ratios,
    )


def tables_of(
    ratios: dict[str, Estimate],
    added: dict[str, Estimate],
    without: dict[str, Estimate],
    rounds: int,
) -> tuple[Table, ...]:
    """The ratios, then each tool."""
    pairs = tuple((name.split("/", 1)[1], with_interval(one)) for name, one in ratios.items())
    rows = tuple(
        (tool, with_interval(without[tool], 1000), with_interval(one, 1000))
        for tool, one in added.items()
    )
    return (
        Table("What the sender pays, noisetop : peer", ("ratio", LOAD.name), pairs),
        Table(
            f"The sender's call under {LOAD.name}",
            ("tool", "call without it, µs", "added, µs"),
            rows,
            f"`membarrier`, which returns once the victim has answered, so what the tool adds to "
            f"the interruption is in it; 10th percentile, in the quiet ones of {rounds} rounds.",
        ),
    )


PART: Part = SenderCost()
