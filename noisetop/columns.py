"""Every figure of the live views: its title, unit, width, format and order, declared once.

The dashboard, the plain text and the exporters take it from here, so they cannot differ.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Generic, TypeVar

from noisetop.event import CLASSES, Source
from noisetop.hardware_figures import steal_ns
from noisetop.sanitize import printable
from noisetop.summary import ClassTotal, CpuSummary, SourceSummary, Summary
from noisetop.tick import STOPPED, kept_by, reason_words
from noisetop.trigger import Trigger
from noisetop.units import format_count, format_ns

Value = int | float | str | None
"""None: there is nothing to tell, because it did not occur."""

NOTHING = "-"
ALWAYS_SHOWN = CLASSES[:6]
"""Classes that stable output has columns for, whether they occur or not."""

_NS_PER_S = 1_000_000_000
_EXACT_DIGITS = 7
_BY_WIDTH = 26
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
    steal_ns: int | None = None
    """What the hypervisor took; None: it is not told."""


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
    noise_ns: int
    """Noise of all sources in view, for the share."""


Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    """One figure."""

    name: str
    """In files: what it is, with its unit."""
    title: str
    unit: str
    width: int
    """Cells that its text never needs more of, but for figures beyond any sane run."""
    value: Callable[[Row], Value]
    show: Callable[[Value], str]
    help: str
    left: bool = False
    """Aligned to the left and sorted ascending: names. Figures: to the right, largest first."""
    sortable: bool = True

    def text(self, row: Row) -> str:
        """The figure as people are shown it, not padded."""
        value = self.value(row)
        return NOTHING if value is None else self.show(value)

    def cell(self, row: Row) -> str:
        """The figure, padded to the width."""
        return self.pad(self.text(row))

    def pad(self, text: str) -> str:
        """Pads to the width; longer text is left whole, so that no figure is cut into another."""
        room = " " * (self.width - cells(text))
        return text + room if self.left else room + text

    def order(self, rows: Iterable[Row], *, reverse: bool = False) -> list[Row]:
        """The rows sorted by it; those that have nothing to tell come last either way."""
        known: list[tuple[Value, Row]] = []
        nothing: list[Row] = []
        for row in rows:
            value = self.value(row)
            if value is None:
                nothing.append(row)
            else:
                known.append((value, row))
        known.sort(key=lambda pair: pair[0], reverse=self.left is reverse)  # type: ignore[arg-type, return-value]
        return [row for _, row in known] + nothing


@lru_cache(maxsize=16384)
def label_of(source: Source) -> str:
    """The path of a source in one line, harmless on a terminal."""
    return printable(source.label)


@lru_cache(maxsize=16384)
def trigger_label(trigger: Trigger) -> str:
    """Who did it and where, in one line, harmless on a terminal."""
    if not trigger.label:
        return "unknown"
    where = f" on CPU {trigger.cpu}" if trigger.task and trigger.cpu >= 0 else ""
    return printable(f"{trigger.label}{where}")


def cells(text: str) -> int:
    """How many cells a terminal needs for printable text."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text)


def shorten_end(text: str, width: int) -> str:
    """Text in at most ``width`` cells, … in place of what is cut off."""
    if cells(text) <= width:
        return text
    while cells(text) >= width:
        text = text[:-1]
    return f"{text}…"


def aligned(columns: Sequence[Column[Row]], rows: Iterable[Row]) -> Iterator[str]:
    """A line of titles, then one for each row."""
    yield " ".join(column.pad(column.title) for column in columns).rstrip()
    for row in rows:
        yield " ".join(column.cell(row) for column in columns).rstrip()


def cpu_row(summary: Summary, cpu: CpuSummary) -> CpuRow:
    """The row of one CPU of a summary, or of its ``all_cpus()``."""
    cpus = len(summary.cpus) if cpu.cpu is None else 1
    stolen_ns = steal_ns(summary.hardware, cpu.cpu)
    return CpuRow(cpu, summary.start_ns, summary.duration_ns, cpu.by_class(), cpus, stolen_ns)


def source_rows(summary: Summary, cpu: CpuSummary) -> list[SourceRow]:
    """A row for each source of one CPU of a summary, or of its ``all_cpus()``."""
    start_ns, duration_ns, noise_ns = summary.start_ns, summary.duration_ns, cpu.noise_ns
    return [
        SourceRow(one, cpu.cpu, label_of(one.source), start_ns, duration_ns, noise_ns)
        for one in cpu.sources
    ]


def _per_second(amount: float, duration_ns: int) -> float:
    return amount * _NS_PER_S / duration_ns if duration_ns > 0 else 0.0


def _percent(part: float, whole: float) -> float:
    return 100 * part / whole if whole > 0 else 0.0


def _number(value: Value) -> float:
    assert isinstance(value, int | float)
    return value


def show_ns(value: Value) -> str:
    """Time, scaled."""
    return format_ns(_number(value))


def show_count(value: Value) -> str:
    """Exact as long as it fits."""
    text = str(value)
    return text if len(text) <= _EXACT_DIGITS else format_count(_number(value))


def _show_rate(value: Value) -> str:
    return format_count(_number(value))


def _show_moment(value: Value) -> str:
    return f"{_number(value) / _NS_PER_S:.3f} s"


def _noise_percent(row: CpuRow) -> float:
    return _percent(row.cpu.noise_ns, row.duration_ns * row.cpus)


def _single_start(row: CpuRow) -> int | None:
    return row.cpu.max_single_start_ns - row.start_ns if row.cpu.max_single_ns else None


def _cpu_number(row: CpuRow) -> Value:
    return "all" if row.cpu.cpu is None else row.cpu.cpu


CPU: Column[CpuRow] = Column(
    "cpu", "CPU", "", 4, _cpu_number, str, "watched CPU; all: their sum", left=True
)
CPU_FIGURES: tuple[Column[CpuRow], ...] = (
    Column(
        "noise_percent", "Noise %", "%", 8, _noise_percent, lambda v: f"{_number(v):.4f}",
        "share of the time that was taken from what runs there",
    ),
    Column(
        "noise_ns_per_s", "Noise/s", "ns/s", 7,
        lambda row: _per_second(row.cpu.noise_ns, row.duration_ns), show_ns,
        "time taken in each second",
    ),
    Column(
        "max_single_ns", "Max single", "ns", 10,
        lambda row: row.cpu.max_single_ns or None, show_ns,
        "longest contiguous stretch of noise",
    ),
    Column(
        "interruptions_per_s", "Intr/s", "1/s", 6,
        lambda row: _per_second(row.cpu.count, row.duration_ns), _show_rate,
        "interruptions in each second",
    ),
)  # fmt: skip
MAX_SINGLE_AT: Column[CpuRow] = Column(
    "max_single_start_ns", "Max at", "ns", 10, _single_start, _show_moment,
    "when that stretch began, after the start of the period",
)  # fmt: skip
CPU_STEAL: Column[CpuRow] = Column(
    "steal_ns_per_s", "Steal/s", "ns/s", 7,
    lambda row: _per_second(row.steal_ns, row.duration_ns) if row.steal_ns else None, show_ns,
    "taken by the hypervisor in each second, in coarse steps (w tells them); no part of the noise",
)  # fmt: skip
CPU_IDLE: Column[CpuRow] = Column(
    "idle_ns", "Idle", "ns", 7, lambda row: row.cpu.idle_ns or None, show_ns,
    "what ran while the CPU was idle: no noise, nobody lost time",
)  # fmt: skip


def _tick_kept_by(row: CpuRow) -> str | None:
    kept = kept_by(row.cpu.tick_stops)
    return f"{reason_words(kept[0][0])} {show_count(kept[0][1])}" if kept else None


TICK_STOPPED: Column[CpuRow] = Column(
    "tick_stopped", "Tick off", "", 8, lambda row: row.cpu.tick_stops.get(STOPPED) or None,
    show_count, "how often the kernel stopped the tick",
)  # fmt: skip
TICK_KEPT_BY: Column[CpuRow] = Column(
    "tick_kept_by", "Tick kept by", "", 25, _tick_kept_by, str,
    "what most often kept the tick running, and how often", left=True,
)  # fmt: skip


@cache
def class_columns(noise_class: str) -> tuple[Column[CpuRow], Column[CpuRow]]:
    """Count and net time of one class on a CPU."""

    def total(row: CpuRow) -> ClassTotal:
        return row.classes.get(noise_class, _NONE)

    count: Column[CpuRow] = Column(
        f"{noise_class}_count", f"{noise_class}#", "", max(len(noise_class) + 1, _EXACT_DIGITS),
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
    return trigger_label(triggers[0].trigger)


SOURCE_BY: Column[SourceRow] = Column(
    "trigger", "By", "", _BY_WIDTH, _top_trigger, lambda v: shorten_end(str(v), _BY_WIDTH),
    "who caused most of it; b or Enter: all of them", left=True,
)  # fmt: skip


def _noise_only(figure: Callable[[SourceRow], Value]) -> Callable[[SourceRow], Value]:
    """Nothing to tell about noise when all of it fell on an idle CPU."""
    return lambda row: figure(row) if row.source.count else None


SOURCE_FIGURES: tuple[Column[SourceRow], ...] = (
    Column(
        "net_ns", "Total", "ns", 7, _noise_only(lambda row: row.source.net_ns), show_ns,
        "net time: without what interrupted it in turn",
    ),
    Column(
        "share_percent", "Share", "%", 7,
        _noise_only(lambda row: _percent(row.source.net_ns, row.noise_ns)),
        lambda v: f"{_number(v):.2f}%",
        "its part of the noise on the CPUs in view",
    ),
    Column(
        "count", "Count", "", 7, _noise_only(lambda row: row.source.count), show_count,
        "how often it interrupted someone",
    ),
    Column(
        "count_per_s", "Rate/s", "1/s", 6,
        _noise_only(lambda row: _per_second(row.source.count, row.duration_ns)), _show_rate,
        "how often in each second",
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
        "net time that 1 % exceed; at most 6.25 % too high",
    ),
    Column(
        "p50_ns", "p50", "ns", 7, _noise_only(lambda row: row.source.percentile_ns(0.5)), show_ns,
        "median net time; at most 6.25 % too high",
    ),
    Column(
        "max_start_ns", "Worst at", "ns", 10,
        _noise_only(lambda row: row.source.max_start_ns - row.start_ns), _show_moment,
        "when the largest one began, after the start of the period",
    ),
)  # fmt: skip
SOURCE_IDLE: tuple[Column[SourceRow], ...] = (
    Column(
        "idle_count", "Idle#", "", 7, lambda row: row.source.idle_count or None, show_count,
        "how often it ran while the CPU was idle: no noise",
    ),
    Column(
        "idle_ns", "Idle", "ns", 7, lambda row: row.source.idle_ns or None, show_ns,
        "net time of those",
    ),
)  # fmt: skip
