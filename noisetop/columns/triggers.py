"""The figures of triggers, wherever they are shown."""

from __future__ import annotations

from dataclasses import dataclass

from noisetop.columns.noise import trigger_label
from noisetop.events.trigger import Trigger
from noisetop.summary.summary import CpuSummary, SourceSummary
from noisetop.summary.trigger_totals import TriggerSummary, largest_first
from noisetop.text.column import Column, show_count, show_ns


@dataclass(frozen=True, slots=True)
class TriggerRow:
    """What the columns of a trigger are computed from."""

    part: TriggerSummary
    label: str
    """Harmless on a terminal."""
    whole_ns: int
    """Noise of all triggers in view, for the share."""


def triggers_of_source(source: SourceSummary) -> list[TriggerRow]:
    """A row for each trigger of a source, largest first."""
    return [TriggerRow(one, trigger_label(one.trigger), source.net_ns) for one in source.triggers]


def triggers_of_all(cpu: CpuSummary) -> list[TriggerRow]:
    """A row for each trigger of all sources together; net times add up without overlap."""
    parts = largest_first(one for source in cpu.sources for one in source.triggers)
    return [TriggerRow(one, trigger_label(one.trigger), cpu.noise_ns) for one in parts]


def is_known(trigger: Trigger) -> bool:
    """Whether it tells who it was."""
    return trigger != Trigger()


TRIGGER: Column[TriggerRow] = Column(
    "trigger", "Who", "", 40, lambda row: row.label, str,
    "who triggered it; unknown: not reported by the kernel, or before the start", left=True,
)  # fmt: skip
TRIGGER_FIGURES: tuple[Column[TriggerRow], ...] = (
    Column(
        "net_ns", "Total", "ns", 7, lambda row: row.part.net_ns, show_ns,
        "net time of the interruptions that it triggered",
    ),
    Column(
        "share_percent", "Share", "%", 7,
        lambda row: 100 * row.part.net_ns / row.whole_ns if row.whole_ns else 0.0,
        lambda v: f"{v:.2f}%", "its part of the noise in view",
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
