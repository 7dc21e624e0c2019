"""Every figure of the live views: its title, unit, width, format and order, declared once.

The dashboard, the plain text and the exporters take it from here, so they cannot differ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

from noisetop.columns.tasks import NOBODY
from noisetop.counters.period import PeriodCounters
from noisetop.counters.section import CpuFigure, Section, sections
from noisetop.events.interruption import CLASSES, Source
from noisetop.events.origin import Origin
from noisetop.events.trigger import Trigger
from noisetop.summary.cpu_victim import CONTENTION
from noisetop.summary.summary import ClassTotal, CpuSummary, SourceSummary, Summary
from noisetop.text.column import (
    EXACT_DIGITS,
    Column,
    Value,
    number,
    per_second,
    percent,
    shorten_end,
    show_count,
    show_moment,
    show_ns,
    show_rate,
)
from noisetop.text.sanitize import printable

ALWAYS_SHOWN = CLASSES[:6]
"""Classes that stable output has columns for, whether they occur or not."""

_BY_WIDTH = 26
_LABELS = 4096
"""Labels that are remembered: those of some views. Anybody can start tasks under ever new names."""
_NONE = ClassTotal(0, 0)


@dataclass(frozen=True, slots=True)
class CpuRow:
    """What the columns of a CPU are computed from."""

    cpu: CpuSummary
    start_ns: int
    duration_ns: int
    classes: dict[str, ClassTotal]
    cpus: int = 1
    """How many CPUs it sums up."""
    counters: PeriodCounters = field(default_factory=PeriodCounters)


@dataclass(frozen=True, slots=True)
class SourceRow:
    """What the columns of a source are computed from."""

    source: SourceSummary
    cpu: int | None
    """None: all CPUs in view."""
    label: str
    """Its path in one line, harmless on a terminal."""
    start_ns: int
    duration_ns: int
    whole_ns: int
    """Of all sources in view that are not self-inflicted, for the share: cost where that is known,
    else net time."""


@lru_cache(maxsize=_LABELS)
def label_of(source: Source) -> str:
    """The path of a source in one line, harmless on a terminal."""
    return printable(source.label)


@lru_cache(maxsize=_LABELS)
def trigger_label(trigger: Trigger) -> str:
    """Who did it and where, in one line, harmless on a terminal."""
    if not trigger.label:
        return "unknown"
    where = f" on CPU {trigger.cpu}" if trigger.task and trigger.cpu >= 0 else ""
    return printable(f"{trigger.label}{where}")


def cpu_row(summary: Summary, cpu: CpuSummary) -> CpuRow:
    """The row of one CPU of a summary, or of its ``all_cpus()``."""
    cpus = len(summary.cpus) if cpu.cpu is None else 1
    totals = cpu.by_class()
    return CpuRow(cpu, summary.start_ns, summary.duration_ns, totals, cpus, summary.counters)


def source_rows(summary: Summary, cpu: CpuSummary) -> list[SourceRow]:
    """A row for each source of one CPU of a summary, or of its ``all_cpus()``."""
    start_ns, duration_ns = summary.start_ns, summary.duration_ns
    whole_ns = sum(one.rank_ns for one in cpu.external)
    return [
        SourceRow(one, cpu.cpu, label_of(one.source), start_ns, duration_ns, whole_ns)
        for one in cpu.sources
    ]


def _noise_percent(row: CpuRow) -> float:
    return percent(row.cpu.external_ns, row.duration_ns * row.cpus)


def _cost_percent(row: CpuRow) -> float | None:
    cost_ns = row.cpu.external_cost_ns
    return None if cost_ns is None else percent(cost_ns, row.duration_ns * row.cpus)


def _single_start(row: CpuRow) -> int | None:
    return row.cpu.max_single_start_ns - row.start_ns if row.cpu.max_single_ns else None


def _cpu_number(row: CpuRow) -> Value:
    return "all" if row.cpu.cpu is None else row.cpu.cpu


CPU: Column[CpuRow] = Column(
    "cpu", "CPU", "", 4, _cpu_number, str, "watched CPU; all: their sum", left=True
)
CPU_COST: Column[CpuRow] = Column(
    "cost_percent", "≈Cost %", "%", 8, _cost_percent, lambda v: f"{number(v):.4f}",
    "estimate of what victims lost to others, as a share of the period: net time and the "
    "calibrated cost of entering and leaving the kernel; empty: not calibrated",
)  # fmt: skip
CPU_FIGURES: tuple[Column[CpuRow], ...] = (
    Column(
        "noise_percent", "Noise %", "%", 8, _noise_percent, lambda v: f"{number(v):.4f}",
        "net time of noise that is not self-inflicted, as a share of the period; exact",
    ),
    Column(
        "noise_ns_per_s", "Noise/s", "ns/s", 7,
        lambda row: per_second(row.cpu.external_ns, row.duration_ns), show_ns,
        "the same per second",
    ),
    Column(
        "max_single_ns", "Max single", "ns", 10,
        lambda row: row.cpu.max_single_ns or None, show_ns,
        "longest contiguous interval of noise",
    ),
    Column(
        "interruptions_per_s", "Intr/s", "1/s", 6,
        lambda row: per_second(row.cpu.count, row.duration_ns), show_rate,
        "interruptions per second",
    ),
)  # fmt: skip
CPU_SELF: Column[CpuRow] = Column(
    "self_ns", "Self", "ns", 7, lambda row: row.cpu.by_origin.get(Origin.SELF.label), show_ns,
    "net time of what the victim caused itself: softirqs that it raised, timers that it armed",
)  # fmt: skip
CPU_CONTENTION: Column[CpuRow] = Column(
    "contention_ns", "Content.", "ns", 8, lambda row: row.cpu.aside_ns(CONTENTION) or None, show_ns,
    "contention: net time that tasks took from each other on a CPU that nobody claims; no noise",
)  # fmt: skip
MAX_SINGLE_AT: Column[CpuRow] = Column(
    "max_single_start_ns", "Max at", "ns", 10, _single_start, show_moment,
    "when that interval began, after the start of the period",
)  # fmt: skip
CPU_IDLE: Column[CpuRow] = Column(
    "idle_ns", "Idle", "ns", 7, lambda row: row.cpu.idle_ns or None, show_ns,
    "what ran while the CPU was idle: no task was delayed",
)  # fmt: skip


@cache
def section_columns() -> tuple[Column[CpuRow], ...]:
    """Columns that the side figures offer, by the rank of their sections."""
    return (*leading_columns(), *_columns_of(lead=False))


@cache
def leading_columns() -> tuple[Column[CpuRow], ...]:
    """Those of them that stand beside the noise of a CPU."""
    return _columns_of(lead=True)


def _columns_of(*, lead: bool) -> tuple[Column[CpuRow], ...]:
    chosen = [one for one in sections() if one.columns_lead is lead]
    return tuple(_of_section(one, column) for one in chosen for column in one.cpu_columns)


def _of_section(section: Section[Any, Any], column: Column[CpuFigure[Any]]) -> Column[CpuRow]:
    def value(row: CpuRow) -> Value:
        figure = CpuFigure(row.counters.of(section), row.cpu.cpu, row.duration_ns)
        return column.value(figure)

    return Column(
        column.name, column.title, column.unit, column.width, value, column.show, column.help,
        column.left, column.sortable,
    )  # fmt: skip


@cache
def class_columns(noise_class: str) -> tuple[Column[CpuRow], Column[CpuRow]]:
    """Count and net time of one class on a CPU."""

    def total(row: CpuRow) -> ClassTotal:
        return row.classes.get(noise_class, _NONE)

    count: Column[CpuRow] = Column(
        f"{noise_class}_count", f"{noise_class}#", "", max(len(noise_class) + 1, EXACT_DIGITS),
        lambda row: total(row).count or None, show_count,
        f"interruptions of class {noise_class}",
    )  # fmt: skip
    net: Column[CpuRow] = Column(
        f"{noise_class}_ns", noise_class, "ns", max(len(noise_class), 7),
        lambda row: total(row).net_ns or None, show_ns,
        f"net time of class {noise_class}",
    )  # fmt: skip
    return count, net


SOURCE: Column[SourceRow] = Column(
    "path", "Source", "", 24, lambda row: row.label, str,
    "what ran, class first", left=True,
)  # fmt: skip
SOURCE_CPU: Column[SourceRow] = Column(
    "cpu", "CPU", "", 4, lambda row: "all" if row.cpu is None else row.cpu, str,
    "where it ran", left=True,
)  # fmt: skip


def _top_trigger(row: SourceRow) -> str | None:
    """None when nothing is known about any."""
    triggers = row.source.triggers
    if not triggers or all(not one.trigger.label for one in triggers):
        return None
    label = trigger_label(triggers[0].trigger)
    if row.source.source.noise_class != "thread":
        return label
    return f"woken by {label if triggers[0].trigger.label else NOBODY}"


SOURCE_BY: Column[SourceRow] = Column(
    "trigger", "By", "", _BY_WIDTH, _top_trigger, lambda v: shorten_end(str(v), _BY_WIDTH),
    "who triggered most of it, or woke the thread; b or Enter: all triggers", left=True,
)  # fmt: skip


def _share(row: SourceRow) -> float | None:
    if not row.source.is_external:
        return None
    return percent(row.source.rank_ns, row.whole_ns)


def _noise_only(figure: Callable[[SourceRow], Value]) -> Callable[[SourceRow], Value]:
    """Nothing to tell about noise when all of it fell on an idle CPU."""
    return lambda row: figure(row) if row.source.count else None


SOURCE_ORIGIN: Column[SourceRow] = Column(
    "origin", "Origin", "", 12, lambda row: row.source.aside or row.source.origin.label, str,
    "whose doing it was: self (the victim), program (other threads of its process), others, "
    "kernel, device, outside (hypervisor, firmware), unattributed; victim: the victim of the CPU "
    "ran while others waited, contention: a task on a CPU that nobody claims", left=True,
)  # fmt: skip
SOURCE_COST: Column[SourceRow] = Column(
    "cost_ns", "≈Cost", "ns", 7, _noise_only(lambda row: row.source.cost_ns), show_ns,
    "estimate of what the victims lost to it: net time and the calibrated cost of entering and "
    "leaving the kernel; empty: not calibrated",
)  # fmt: skip
SOURCE_FIGURES: tuple[Column[SourceRow], ...] = (
    Column(
        "net_ns", "Total", "ns", 7, _noise_only(lambda row: row.source.net_ns), show_ns,
        "net time, excluding nested interruptions",
    ),
    Column(
        "share_percent", "Share", "%", 7,
        _noise_only(_share),
        lambda v: f"{number(v):.2f}%",
        "share of the cost on the CPUs in view, of net time where nothing is calibrated; "
        "self-inflicted noise has none",
    ),
    Column(
        "count", "Count", "", 7, _noise_only(lambda row: row.source.count), show_count,
        "interruptions of a victim",
    ),
    Column(
        "count_per_s", "Rate/s", "1/s", 6,
        _noise_only(lambda row: per_second(row.source.count, row.duration_ns)), show_rate,
        "interruptions per second",
    ),
    Column(
        "mean_ns", "Mean", "ns", 7, _noise_only(lambda row: row.source.mean_ns), show_ns,
        "mean net time",
    ),
    Column(
        "max_ns", "Max", "ns", 7, _noise_only(lambda row: row.source.max_ns), show_ns,
        "largest net time of one interruption",
    ),
    Column(
        "p99_ns", "p99", "ns", 7, _noise_only(lambda row: row.source.percentile_ns(0.99)), show_ns,
        "99th percentile of net time, at most 6.25 % too high",
    ),
    Column(
        "p50_ns", "p50", "ns", 7, _noise_only(lambda row: row.source.percentile_ns(0.5)), show_ns,
        "median net time, at most 6.25 % too high",
    ),
    Column(
        "max_start_ns", "Worst at", "ns", 10,
        _noise_only(lambda row: row.source.max_start_ns - row.start_ns if row.source.max_start_ns
                    else None), show_moment,
        "when the largest one began, after the start of the period",
    ),
)  # fmt: skip
SOURCE_IDLE: tuple[Column[SourceRow], ...] = (
    Column(
        "idle_count", "Idle#", "", 7, lambda row: row.source.idle_count or None, show_count,
        "runs while the CPU was idle: not noise",
    ),
    Column(
        "idle_ns", "Idle", "ns", 7, lambda row: row.source.idle_ns or None, show_ns,
        "net time of those runs",
    ),
)  # fmt: skip
