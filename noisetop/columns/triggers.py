"""The figures of triggers, wherever they are shown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from noisetop.columns.tasks import NOBODY, NamedShare, TaskNamer
from noisetop.events.interruption import Source
from noisetop.events.trigger import Trigger
from noisetop.summary.summary import SourceSummary, Summary
from noisetop.summary.trigger_totals import TriggerSummary
from noisetop.text.column import Column, percent, show_count, show_ns


@dataclass(frozen=True, slots=True)
class TriggerRow:
    """What the columns of a trigger are computed from."""

    part: TriggerSummary
    label: str
    """Harmless on a terminal."""
    whole_ns: int
    """Of all triggers in view, for the share: cost where that is known, else net time."""


def triggers_of_source(source: SourceSummary, namer: TaskNamer) -> list[TriggerRow]:
    """A row for each trigger of a source, largest first. Of a thread these woke it."""
    return _rows(namer.triggers_of(source), source.rank_ns)


def who_of_source(source: SourceSummary, namer: TaskNamer) -> list[TriggerRow]:
    """The same, behind the tasks that a program is: its triggers are said to have woken it."""
    triggers = triggers_of_source(source, namer)
    if source.source.noise_class == "thread":
        triggers = [replace(one, label=f"woken by {one.label}") for one in triggers]
    return _rows(namer.programs_of(source), source.rank_ns) + triggers


def _rows(found: Iterable[NamedShare], whole_ns: int) -> list[TriggerRow]:
    return [TriggerRow(one.part, one.label, whole_ns) for one in found]


def culprits(summary: Summary) -> list[TriggerRow]:
    """A row for each one that is behind the noise, but for what is self-inflicted: a program that
    ran itself, else what triggered it. Net times add up without overlap. What is not known comes
    last."""
    found = TaskNamer(summary).culprits()
    return _rows(found, sum(one.part.rank_ns for one in found))


def verb_of(source: Source) -> str:
    """How a trigger relates to what it triggered."""
    return "woken by" if source.noise_class == "thread" else "by"


def is_known(trigger: Trigger) -> bool:
    """Whether it tells who it was."""
    return trigger != Trigger()


TRIGGER: Column[TriggerRow] = Column(
    "trigger", "Who", "", 40, lambda row: row.label, str,
    f"who triggered it; unknown: not reported by the kernel, or before the start; {NOBODY}: the "
    "thread went on after it was preempted, or its wake-up was not seen", left=True,
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
