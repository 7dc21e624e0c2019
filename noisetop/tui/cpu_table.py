"""The table of the watched CPUs."""

from __future__ import annotations

from collections.abc import Hashable

from noisetop.columns import (
    CPU,
    CPU_FIGURES,
    CPU_IDLE,
    CPU_STEAL,
    MAX_SINGLE_AT,
    TICK_KEPT_BY,
    TICK_STOPPED,
    Column,
    CpuRow,
    class_columns,
    cpu_row,
)
from noisetop.event import CLASSES
from noisetop.summary import CpuSummary, Summary
from noisetop.tick import kept_by
from noisetop.tui.history import History
from noisetop.tui.line_table import LineTable

_HISTORY_WIDTH = 12


class CpuTable(LineTable[CpuRow]):
    """A row per CPU below the sum over all of them."""

    pinned = CPU
    sort_name = CPU.name

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.history = History()
        self.classes_seen: set[str] = set()
        self.tick_was_kept = False
        self._history_column: Column[CpuRow] = Column(
            "history", "History", "", _HISTORY_WIDTH,
            lambda row: self.history.bars(row.cpu.cpu, _HISTORY_WIDTH), str,
            "noise of the latest intervals; a full bar: the worst of them on any CPU",
            sortable=False,
        )  # fmt: skip

    def key_of(self, row: CpuRow) -> Hashable:
        """CPUs are recognised by their number."""
        return row.cpu.cpu

    def show_summary(self, summary: Summary, everywhere: CpuSummary, history: History) -> None:
        """Takes a new sample; ``everywhere`` is its ``all_cpus()``."""
        self.history = history
        total = cpu_row(summary, everywhere)
        self.classes_seen |= {name for name, sums in total.classes.items() if sums.count}
        self.tick_was_kept |= bool(kept_by(everywhere.tick_stops))
        rows = [cpu_row(summary, cpu) for cpu in summary.cpus]
        self.show(rows, total if len(rows) > 1 else None, self._columns_now())

    def show_nothing(self) -> None:
        """Before the first sample of a period."""
        self.show((), None, self._columns_now())

    def _columns_now(self) -> list[Column[CpuRow]]:
        seen = [name for name in CLASSES if name in self.classes_seen]
        by_class = [column for name in seen for column in class_columns(name)]
        tick = [TICK_STOPPED, TICK_KEPT_BY] if self.tick_was_kept else [TICK_STOPPED]
        figures = [*CPU_FIGURES, self._history_column, CPU_STEAL, *by_class]
        return [*figures, CPU_IDLE, MAX_SINGLE_AT, *tick]
