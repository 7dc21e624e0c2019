"""The figures of page faults, wherever they are shown: by kind, time run and time slept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from noisetop.columns.side_table import SideTable
from noisetop.events.interruption import FAULT as FAULT_CLASS
from noisetop.summary.summary import CpuSummary, SourceSummary, Summary
from noisetop.text.column import Column, Value, show_count, show_ns
from noisetop.text.sanitize import printable

_NS_PER_S = 1_000_000_000
_KIND, _ASLEEP = 1, 2
"""Steps of the path: fault › major › asleep."""


@dataclass(frozen=True, slots=True)
class FaultRow:
    """One kind of fault on one CPU or on all in view."""

    kind: str
    """Harmless on a terminal."""
    cpu: int | None
    ran: SourceSummary | None
    """None: one that slept ended in the period, none that ran did."""
    asleep: SourceSummary | None
    """Of those that slept; None: none did."""
    duration_ns: int


def fault_rows(summary: Summary, cpu: CpuSummary) -> list[FaultRow]:
    """A row for each kind that occurred on one CPU of a summary, or on its ``all_cpus()``."""
    kinds: dict[str, list[SourceSummary | None]] = {}
    for one in cpu.side.get(FAULT_CLASS, ()):
        path = one.source.path
        parts = kinds.setdefault(" ".join(path[_KIND:_ASLEEP]), [None, None])
        parts[len(path) > _ASLEEP] = one
    return [
        FaultRow(printable(kind.replace("_", " ")), cpu.cpu, ran, asleep, summary.duration_ns)
        for kind, (ran, asleep) in kinds.items()
    ]


def _of(
    part: Callable[[FaultRow], SourceSummary | None], figure: Callable[[SourceSummary], Value]
) -> Callable[[FaultRow], Value]:
    """Nothing to tell where there is no such part."""

    def value(row: FaultRow) -> Value:
        summary = part(row)
        return None if summary is None else figure(summary)

    return value


def _ran(figure: Callable[[SourceSummary], Value]) -> Callable[[FaultRow], Value]:
    return _of(lambda row: row.ran, figure)


def _slept(figure: Callable[[SourceSummary], Value]) -> Callable[[FaultRow], Value]:
    return _of(lambda row: row.asleep, figure)


def _rate(row: FaultRow) -> Value:
    if row.ran is None or row.duration_ns <= 0:
        return None
    return row.ran.count * _NS_PER_S / row.duration_ns


FAULT: Column[FaultRow] = Column(
    "kind", "Fault", "", 9, lambda row: row.kind, str,
    "minor: no I/O; major: waited for I/O; numa hint: sampled by NUMA balancing", left=True,
)  # fmt: skip
FAULT_CPU: Column[FaultRow] = Column(
    "cpu", "CPU", "", 4, lambda row: "all" if row.cpu is None else row.cpu, str,
    "where it ended", left=True,
)  # fmt: skip
FAULT_FIGURES: tuple[Column[FaultRow], ...] = (
    Column("net_ns", "Total", "ns", 7, _ran(lambda one: one.net_ns), show_ns,
           "time on a CPU, excluding interruptions and blocked time"),
    Column("count", "Count", "", 7, _ran(lambda one: one.count), show_count, "faults"),
    Column("count_per_s", "Rate/s", "1/s", 7, _rate,
           lambda v: show_count(round(float(v or 0))), "faults per second"),
    Column("mean_ns", "Mean", "ns", 7, _ran(lambda one: one.mean_ns), show_ns,
           "mean time on a CPU"),
    Column("max_ns", "Max", "ns", 7, _ran(lambda one: one.max_ns), show_ns,
           "largest time on a CPU of one fault"),
    Column("asleep_ns", "Blocked", "ns", 7, _slept(lambda one: one.net_ns), show_ns,
           "time that faults were blocked, on I/O or a lock"),
    Column("asleep_count", "Block#", "", 7, _slept(lambda one: one.count), show_count,
           "faults that blocked"),
    Column("asleep_max_ns", "Longest", "ns", 7, _slept(lambda one: one.max_ns), show_ns,
           "longest time that one fault was blocked"),
)  # fmt: skip


def _stack(one: SourceSummary, cpu: str) -> tuple[str, ...]:
    _, kind, *asleep = one.source.path
    return ("blocked in page faults" if asleep else "page faults", cpu, kind)


SIDE_TABLE = SideTable(
    noise_class=FAULT_CLASS,
    title="Page faults of the victims: self-inflicted, not counted as noise",
    kind=FAULT,
    cpu=FAULT_CPU,
    figures=FAULT_FIGURES,
    rows_of=fault_rows,
    stack_of=_stack,
)
