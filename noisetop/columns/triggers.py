"""The figures of triggers, wherever they are shown."""

from __future__ import annotations

from dataclasses import dataclass

from noisetop.columns.noise import trigger_label
from noisetop.events.trigger import Trigger
from noisetop.summary.summary import CpuSummary, SourceSummary
from noisetop.summary.trigger_totals import TriggerSummary, largest_first
from noisetop.text.column import Column, percent, show_count, show_ns


@dataclass(frozen=True, slots=True)
class TriggerRow:
    """What the columns of a trigger are computed from."""

    part: TriggerSummary
    label: str
    """Harmless on a terminal."""
    whole_ns: int
    """Of all triggers in view, for the share: cost where that is known, else net time."""


def triggers_of_source(source: SourceSummary) -> list[TriggerRow]:
    """A row for each trigger of a source, largest first."""
    return [TriggerRow(one, trigger_label(one.trigger), source.rank_ns) for one in source.triggers]


def triggers_of_all(cpu: CpuSummary) -> list[TriggerRow]:
    """A row for each trigger of all sources but the self-inflicted ones; net times add up without
    overlap. What is not known comes last."""
    parts = largest_first(one for source in cpu.external for one in source.triggers)
    whole_ns = sum(one.rank_ns for one in parts)
    rows = [TriggerRow(one, trigger_label(one.trigger), whole_ns) for one in parts]
    return sorted(rows, key=lambda row: not is_known(row.part.trigger))


def is_known(trigger: Trigger) -> bool:
    """Whether it tells who it was."""
    return trigger != Trigger()


TRIGGER: Column[TriggerRow] = Column(
    "trigger", "Who", "", 40, lambda row: row.label, str,
    "who triggered it; unknown: not reported by the kernel, or before the start", left=True,
)  # fmt: skip
TRIGGER_FIGURES: tuple[Column[TriggerRow], ...] = (
    Column(
        "cost_ns", "≈Cost", "ns", 7, lambda row: row.part.cost_ns, show_ns,
        "estimate of what the victims lost to it; empty: not calibrated",
    ),
    Column(
        "net_ns", "Total", "ns", 7, lambda row: row.part.net_ns, show_ns,
        "net time of the interruptions that it triggered",
    ),
    Column(
        "share_percent", "Share", "%", 7,
        lambda row: percent(row.part.rank_ns, row.whole_ns),
        lambda v: f"{v:.2f}%", "its part of the cost in view, of net time where not calibrated",
    ),
    Column(
        "count", "Count", "", 7, lambda row: row.part.count, show_count,
        "interruptions that it triggered",
    ),
    Column(
        "max_ns", "Max", "ns", 7, lambda row: row.part.max_ns, show_ns,
        "largest net time of one of them",
    ),
)  # fmt: skip
