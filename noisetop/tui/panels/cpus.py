"""The table of the watched CPUs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import Any

from rich.style import Style
from textual import on

from noisetop.columns.noise import (
    CPU,
    CPU_CONTENTION,
    CPU_COST,
    CPU_FIGURES,
    CPU_IDLE,
    CPU_SELF,
    MAX_SINGLE_AT,
    CpuRow,
    class_columns,
    cpu_row,
    leading_columns,
    section_columns,
)
from noisetop.events.interruption import in_class_order
from noisetop.text.column import Column
from noisetop.tui.history import History
from noisetop.tui.keys import Key
from noisetop.tui.line_table import LineTable
from noisetop.tui.panel import Panel
from noisetop.tui.severity import Severity, severity_of, severity_words
from noisetop.tui.state import Period, State

_HISTORY_WIDTH = 12


class CpuTable(LineTable[CpuRow], Panel[Period | None]):
    """A row per CPU below the sum over all of them."""

    ORDER = 10
    KEYS = (Key("Enter", "on a CPU: show only its sources; on 'all': all sources"),)
    DEFAULT_CSS = """
    CpuTable {
        height: auto;
        max-height: 40%;
    }
    """
    pinned = CPU
    sort_name = CPU.name

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.history = History()
        self.classes_seen: set[str] = set()
        self._sections_seen: set[str] = set()
        self._calibrated = False
        self._history_column: Column[CpuRow] = Column(
            "history", "History", "", _HISTORY_WIDTH + 2,
            lambda row: f"{self._bars(row)} {_severity(row).mark}", str,
            "noise of the latest intervals; a full bar: the worst of them on any CPU; behind it "
            f"how bad the noise of the period is: {severity_words()}",
            sortable=False,
        )  # fmt: skip

    def _bars(self, row: CpuRow) -> str:
        return self.history.bars(row.cpu.cpu, _HISTORY_WIDTH)

    def styled_cell(
        self, column: Column[CpuRow], row: CpuRow
    ) -> Sequence[tuple[str, str | Style]] | None:
        """The history, each bar in the colour of its share."""
        if column is not self._history_column:
            return None
        shares = self.history.shares(row.cpu.cpu, _HISTORY_WIDTH)
        bars = self._bars(row)[_HISTORY_WIDTH - len(shares) :]
        parts: list[tuple[str, str | Style]] = [(" " * (_HISTORY_WIDTH - len(shares)), "")]
        severities = [severity_of(share) for share in shares]
        for same, run in groupby(zip(bars, severities, strict=True), key=itemgetter(1)):
            parts.append(("".join(bar for bar, _ in run), same.style))
        severity = _severity(row)
        return [*parts, (f" {severity.mark}", severity.style)]

    @classmethod
    def help_sections(cls) -> Iterable[tuple[str, Iterable[Column[Any]]]]:
        """Part of Panel."""
        more = (CPU_SELF, CPU_CONTENTION, CPU_IDLE, MAX_SINGLE_AT, *section_columns())
        yield "CPUs", (CPU, CPU_COST, *CPU_FIGURES, *more)

    def key_of(self, row: CpuRow) -> Hashable:
        """A CPU is identified by its number."""
        return row.cpu.cpu

    def take(self, state: State) -> Period | None:
        """Figures and history."""
        return state.period

    def draw(self, taken: Period | None) -> None:
        """Part of Panel."""
        if taken is None:
            self.show((), None, self._columns_now())
            return
        summary, everywhere, self.history = taken.summary, taken.everywhere, taken.history
        total = cpu_row(summary, everywhere)
        self.classes_seen |= {name for name, sums in total.classes.items() if sums.count}
        rows = [cpu_row(summary, cpu) for cpu in summary.cpus]
        self._sections_seen |= {
            column.name
            for column in section_columns()
            if column.name not in self._sections_seen
            and any(column.value(row) is not None for row in (total, *rows))
        }
        self._calibrated |= everywhere.external_cost_ns is not None
        self.show(rows, total if len(rows) > 1 else None, self._columns_now())

    def _columns_now(self) -> list[Column[CpuRow]]:
        seen = in_class_order(self.classes_seen)
        by_class = [column for name in seen for column in class_columns(name)]
        counted = [one for one in section_columns() if one.name in self._sections_seen]
        lead = [one for one in counted if one in leading_columns()]
        rest = [one for one in counted if one not in lead]
        cost = (CPU_COST,) if self._calibrated else ()
        figures = [*cost, *CPU_FIGURES, self._history_column, *lead, *by_class]
        return [*figures, CPU_SELF, CPU_CONTENTION, CPU_IDLE, MAX_SINGLE_AT, *rest]

    @on(LineTable.Chosen)
    def _show_its_sources(self, event: LineTable.Chosen) -> None:
        event.stop()
        if isinstance(event.row, CpuRow):
            view = self.dashboard.state.view
            self.dashboard.change_view(replace(view, cpu=event.row.cpu.cpu, per_cpu=False))


def _severity(row: CpuRow) -> Severity:
    return severity_of(row.cpu.external_ns / max(row.duration_ns * row.cpus, 1))


PANELS = (CpuTable,)
