"""The table of the sources of noise."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size

from noisetop.columns import (
    SOURCE,
    SOURCE_BY,
    SOURCE_CPU,
    SOURCE_FIGURES,
    SOURCE_IDLE,
    SourceRow,
    source_rows,
)
from noisetop.event import CLASSES
from noisetop.summary import CpuSummary, Summary
from noisetop.tui.line_table import LineTable

_NARROW = 31
"""Beside it the figures up to the largest one fit into 80 columns."""
_STEP = " › "
_IN_80 = 6
_FIGURES = (*SOURCE_FIGURES[:_IN_80], SOURCE_BY, *SOURCE_FIGURES[_IN_80:])
"""Who caused it comes behind the figures that fit into 80 columns."""


@dataclass(frozen=True, slots=True)
class View:
    """Which sources are shown."""

    cpu: int | None = None
    """Only what ran on this CPU."""
    per_cpu: bool = False
    """A row per CPU and source instead of their sum over the CPUs."""
    idle: bool = False
    """Also what ran while the CPU was idle."""
    filter: str = ""
    """Only paths that hold this text, whatever the case."""


class SourceTable(LineTable[SourceRow]):
    """A row per source, largest net time first unless told otherwise."""

    COMPONENT_CLASSES = {f"source-table--{name}" for name in CLASSES}  # noqa: RUF012
    pinned = SOURCE
    sort_name = "net_ns"

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.longest_label = _NARROW

    def key_of(self, row: SourceRow) -> Hashable:
        """Sources are recognised by path and CPU."""
        return row.cpu, row.source.source.path

    def pinned_width(self, width: int) -> int:
        """As wide as the longest path met so far, but never so that figures need the room."""
        figures = sum(1 + column.width for column in self.columns)
        return max(_NARROW, min(self.longest_label, width - figures))

    def show_summary(self, summary: Summary, everywhere: CpuSummary, view: View) -> None:
        """Takes a new sample; ``everywhere`` is its ``all_cpus()``."""
        rows = list(_rows(summary, everywhere, view))
        self.longest_label = max([self.longest_label, *(cell_len(row.label) for row in rows)])
        columns = [*_FIGURES, *(SOURCE_IDLE if view.idle else ())]
        self.show(rows, None, [SOURCE_CPU, *columns] if view.per_cpu else columns)

    def show_nothing(self) -> None:
        """Before the first sample of a period."""
        self.show((), None, _FIGURES)

    def pinned_parts(self, row: SourceRow) -> tuple[tuple[str, str], ...]:
        """The path with its class set off."""
        width = self._layout.pinned
        text = set_cell_size(shorten(row.label, width), width)
        name = row.source.source.noise_class
        if name not in CLASSES:
            return ((text, ""),)
        return ((text[: len(name)], f"source-table--{name}"), (text[len(name) :], ""))


def _rows(summary: Summary, everywhere: CpuSummary, view: View) -> Iterable[SourceRow]:
    if view.cpu is not None:
        cpus = [cpu for cpu in summary.cpus if cpu.cpu == view.cpu]
    else:
        cpus = list(summary.cpus) if view.per_cpu else [everywhere]
    wanted = view.filter.casefold()
    for cpu in cpus:
        for row in source_rows(summary, cpu):
            seen = row.source.count or (view.idle and row.source.idle_count)
            if seen and wanted in row.label.casefold():
                yield row


def shorten(label: str, width: int) -> str:
    """The label in ``width`` cells: its class and its end, which tell most, with … between."""
    if cell_len(label) <= width:
        return label
    first, step, rest = label.partition(_STEP)
    head = f"{first}{step}…" if step and cell_len(first) + 8 <= width else "…"
    room = width - cell_len(head)
    tail = rest if step else label
    while cell_len(tail) > room:
        tail = tail[1:]
    return head + tail
