"""The figures of page faults, wherever they are shown: by kind, time run and time slept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from noisetop.columns import Column, Value, show_count, show_ns
from noisetop.sanitize import printable
from noisetop.summary import CpuSummary, SourceSummary, Summary

TITLE = "Page faults of the victims: their own doing, no noise"

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
    for one in cpu.faults:
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
    "minor: no I/O; major: waited for I/O; numa hint: to learn who uses the page", left=True,
)  # fmt: skip
FAULT_CPU: Column[FaultRow] = Column(
    "cpu", "CPU", "", 4, lambda row: "all" if row.cpu is None else row.cpu, str,
    "where it ended", left=True,
)  # fmt: skip
FAULT_FIGURES: tuple[Column[FaultRow], ...] = (
    Column("net_ns", "Total", "ns", 7, _ran(lambda one: one.net_ns), show_ns,
           "time on a CPU, without what interrupted it and without sleep"),
    Column("count", "Count", "", 7, _ran(lambda one: one.count), show_count, "how many"),
    Column("count_per_s", "Rate/s", "1/s", 7, _rate,
           lambda v: show_count(round(float(v or 0))), "how many in each second"),
    Column("mean_ns", "Mean", "ns", 7, _ran(lambda one: one.mean_ns), show_ns,
           "mean time on a CPU"),
    Column("max_ns", "Max", "ns", 7, _ran(lambda one: one.max_ns), show_ns,
           "largest time on a CPU of one fault"),
    Column("asleep_ns", "Asleep", "ns", 7, _slept(lambda one: one.net_ns), show_ns,
           "time that faults slept, for I/O or a lock: on no CPU"),
    Column("asleep_count", "Slept#", "", 7, _slept(lambda one: one.count), show_count,
           "how many slept"),
    Column("asleep_max_ns", "Longest", "ns", 7, _slept(lambda one: one.max_ns), show_ns,
           "longest sleep of one fault"),
)  # fmt: skip
