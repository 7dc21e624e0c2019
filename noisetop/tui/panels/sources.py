"""The table of the sources of noise, with its title and its filter."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.style import Style
from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input

from noisetop.columns.noise import (
    SOURCE,
    SOURCE_BY,
    SOURCE_COST,
    SOURCE_CPU,
    SOURCE_FIGURES,
    SOURCE_IDLE,
    SOURCE_ORIGIN,
    SourceRow,
    source_rows,
)
from noisetop.events.interruption import CLASSES
from noisetop.text.column import Column
from noisetop.text.sanitize import printable
from noisetop.tui.drill_path import ARROW, path_words
from noisetop.tui.keys import Key
from noisetop.tui.line_table import LineTable
from noisetop.tui.panel import Panel
from noisetop.tui.path_filter import matcher
from noisetop.tui.state import Period, State, View
from noisetop.tui.text_line import TextLine

_NARROW = 31
"""Beside it the figures up to the largest one fit into 80 columns."""
_STEP = " › "
_IN_80 = 6
_FIGURES = (*SOURCE_FIGURES[:_IN_80], SOURCE_ORIGIN, SOURCE_BY, *SOURCE_FIGURES[_IN_80:])
"""Who caused it comes behind the figures that fit into 80 columns."""


class SourceTable(LineTable[SourceRow]):
    """A row per source, by default largest net time first."""

    COMPONENT_CLASSES = {f"source-table--{name}" for name in CLASSES}  # noqa: RUF012
    DEFAULT_CSS = """
    SourceTable { height: 1fr; }
    SourceTable > .source-table--nmi { color: $error; }
    SourceTable > .source-table--irq { color: $warning; }
    SourceTable > .source-table--ipi { color: $accent; }
    SourceTable > .source-table--timer { color: $success; }
    SourceTable > .source-table--softirq { color: #c792ea; }
    SourceTable > .source-table--thread { color: $primary-lighten-2; }
    SourceTable > .source-table--fault { color: $error-lighten-2; }
    SourceTable > .source-table--entry { color: $secondary; }
    SourceTable > .source-table--hardware { color: $error; }
    """
    pinned = SOURCE
    sort_name = "net_ns"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.longest_label = _NARROW
        self._calibrated = False
        """There were costs: they are what is sorted by, until the user wants another order."""

    def key_of(self, row: SourceRow) -> Hashable:
        """A source is identified by path, origin and CPU."""
        return row.cpu, row.source.source.path, row.source.origin

    def pinned_width(self, width: int) -> int:
        """As wide as the longest path so far, but the figures keep their room."""
        figures = sum(1 + column.width for column in self.columns)
        return max(_NARROW, min(self.longest_label, width - figures))

    def show_period(self, period: Period | None, view: View) -> None:
        """Takes new figures; None: there are none yet."""
        if period is None:
            self.show((), None, _FIGURES)
            return
        rows = list(_rows(period, view))
        self.longest_label = max([self.longest_label, *(cell_len(row.label) for row in rows)])
        if not self._calibrated and any(row.source.entry for row in rows):
            self._calibrated, self.sort_name = True, SOURCE_COST.name
        cost = (SOURCE_COST,) if self._calibrated else ()
        columns = [*cost, *_FIGURES, *(SOURCE_IDLE if view.idle else ())]
        self.show(rows, None, [SOURCE_CPU, *columns] if view.per_cpu else columns)

    def pinned_parts(self, row: SourceRow) -> tuple[tuple[str, str | Style], ...]:
        """The path with its class set off."""
        width = self._layout.pinned
        text = set_cell_size(shorten(row.label, width), width)
        name = row.source.source.noise_class
        if name not in CLASSES:
            return ((text, ""),)
        return ((text[: len(name)], f"source-table--{name}"), (text[len(name) :], ""))


class Sources(Vertical, Panel[tuple[Period | None, View]]):
    """Title, table, and the line for the filter while it is open."""

    ORDER = 20
    KEYS = (
        Key(
            "/", "sources that match a regular expression; ! before it: that do not",
            "slash", "filter", "/ filter",
        ),
        Key("c", "one row per source, or one per source and CPU", "c", "per_cpu", "c CPUs"),
        Key("i", "also show what ran on idle CPUs; it is not noise", "i", "idle"),
        Key("Esc", "clear the filter, then return to all CPUs", "escape", "widen"),
    )  # fmt: skip
    DEFAULT_CSS = """
    Sources { height: 1fr; }
    Sources > TextLine {
        height: 1;
        text-style: bold;
    }
    Sources > Input {
        display: none;
        height: 1;
        border: none;
        padding: 0 1;
        background: $panel;
    }
    Sources > Input:focus { border: none; }
    Sources > Input.open { display: block; }
    """

    @classmethod
    def help_sections(cls) -> Iterable[tuple[str, Iterable[Column[Any]]]]:
        """Part of Panel."""
        yield "sources", (SOURCE, SOURCE_CPU, SOURCE_COST, *_FIGURES, *SOURCE_IDLE)

    def compose(self) -> ComposeResult:
        """Part of Textual."""
        yield TextLine()
        yield SourceTable()
        filter_input = Input(
            placeholder="regular expression on path and origin; !… excludes", compact=True
        )
        filter_input.cursor_blink = False
        yield filter_input

    def on_mount(self) -> None:
        """Part of Textual; the focus starts on the table."""
        self.query_one(SourceTable).focus()

    def take(self, state: State) -> tuple[Period | None, View]:
        """Figures, and which of them to show."""
        return state.period, state.view

    def draw(self, taken: tuple[Period | None, View]) -> None:
        """Part of Panel."""
        self.query_one(SourceTable).show_period(*taken)
        self._show_title()

    @on(LineTable.Sorted)
    def _show_title(self) -> None:
        view = self.dashboard.state.view
        where = "each CPU" if view.per_cpu and view.cpu is None else path_words(self.dashboard)
        back = "" if view.cpu is None else "  (Esc: all CPUs)"
        parts = [f"{where}{ARROW}sources by {self.query_one(SourceTable).sort_title}{back}"]
        if view.filter:
            shown, count = self._matches(view)
            what = f"matching '{printable(view.filter)}'"
            parts.append(f"{what} ({shown} of {count}, Esc clears)")
        if view.idle:
            parts.append("including idle CPUs")
        self.query_one(TextLine).show("  ".join(parts))

    def _matches(self, view: View) -> tuple[int, int]:
        """How many rows the filter leaves, and of how many."""
        period, shown = self.dashboard.state.period, self.query_one(SourceTable).rows
        every = list(_rows(period, replace(view, filter=""))) if period else []
        return len(shown), len(every)

    def _change(self, view: View) -> None:
        self.dashboard.change_view(view)

    def action_per_cpu(self) -> None:
        """Sources of all CPUs together, or a row per CPU and source."""
        view = self.dashboard.state.view
        self._change(replace(view, per_cpu=not view.per_cpu, cpu=None))

    def action_idle(self) -> None:
        """Shows or hides what ran while the CPU was idle."""
        view = self.dashboard.state.view
        self._change(replace(view, idle=not view.idle))

    def action_filter(self) -> None:
        """Opens the line for the filter."""
        filter_input = self.query_one(Input)
        filter_input.add_class("open")
        filter_input.focus()

    def action_widen(self) -> None:
        """Clears the filter; with none, goes back to all CPUs."""
        view, filter_input = self.dashboard.state.view, self.query_one(Input)
        if view.filter or filter_input.has_class("open"):
            filter_input.value = ""
            self._change(replace(view, filter=""))
            self._close_filter()
        else:
            self._change(replace(view, cpu=None))

    @on(Input.Submitted)
    def _close_filter(self) -> None:
        self.query_one(Input).remove_class("open")
        self.query_one(SourceTable).focus()

    @on(Input.Changed)
    def _filter_changed(self, event: Input.Changed) -> None:
        view = self.dashboard.state.view
        if event.value != view.filter:
            self._change(replace(view, filter=event.value))


def _rows(period: Period, view: View) -> Iterable[SourceRow]:
    summary = period.summary
    if view.cpu is not None:
        cpus = [cpu for cpu in summary.cpus if cpu.cpu == view.cpu]
    else:
        cpus = list(summary.cpus) if view.per_cpu else [period.everywhere]
    wanted = matcher(view.filter)
    for cpu in cpus:
        for row in source_rows(summary, cpu):
            seen = row.source.count or (view.idle and row.source.idle_count)
            if seen and wanted(f"{row.label} {row.source.origin.label}"):
                yield row


def shorten(label: str, width: int) -> str:
    """The label in ``width`` cells: its class and its end, which say most, with … between."""
    if cell_len(label) <= width:
        return label
    first, step, rest = label.partition(_STEP)
    head = f"{first}{step}…" if step and cell_len(first) + 8 <= width else "…"
    room = width - cell_len(head)
    tail = rest if step else label
    while cell_len(tail) > room:
        tail = tail[1:]
    return head + tail


PANELS = (Sources,)
