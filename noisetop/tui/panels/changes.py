"""Two recordings side by side: what changed from A to B, source by source."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.style import Style
from textual.worker import Worker, WorkerState

from noisetop.compare.columns import (
    CHANGE,
    COMPARED,
    COMPARED_FIGURES,
    INTERVAL,
    interval_cell,
)
from noisetop.compare.comparison import Comparison, Row
from noisetop.compare.report import verdict_of
from noisetop.errors import NoisetopError
from noisetop.text.column import Column
from noisetop.text.sanitize import printable
from noisetop.tui.keys import Key, ViewKind
from noisetop.tui.line_table import LineTable
from noisetop.tui.panel import Panel, Place
from noisetop.tui.path_filter import exactly
from noisetop.tui.state import State

_WIDEST = 60
_NONE_LOST = "lost 0"
_MORE, _LESS, _SAME = Style(color="#e67e1e", bold=True), Style(color="#3a9bdc", bold=True), Style()
_MARKS = {"MORE": "▲ ", "LESS": "▼ "}
_BY_FIGURE = {
    "time": ("time_a", "time_b", "time_ratio"),
    "rate": ("rate_a", "rate_b", "rate_ratio"),
    "length": ("length_a", "length_b"),
}
"""Columns that have the colour of a significant change, by figure."""


class Changes(LineTable[Row], Panel[None]):
    """The total, then a row per source, the largest change of time first. The comparison is that of
    the whole recordings, made on a thread of its own."""

    TITLE = "Changes from A to B"
    ORDER = 3
    PLACE = Place.OVERLAY
    WIDTH = 170
    VIEWS = frozenset((ViewKind.PAIR,))
    KEYS = (
        Key("D", "what changed from A to B, with significance tests", "D", hint="D A:B"),
        Key("Enter", "on a change: show that source"),
    )
    DEFAULT_CSS = "Changes { height: auto; min-height: 4; }"
    pinned = COMPARED
    sort_name = INTERVAL.name

    @classmethod
    def help_sections(cls) -> Iterable[tuple[str, Iterable[Column[Any]]]]:
        """Part of Panel."""
        yield "changes", (COMPARED, *COMPARED_FIGURES)

    def on_mount(self) -> None:
        """Has the comparison made."""
        self.heading = f"{self.TITLE}: comparing"
        self.show((), None, COMPARED_FIGURES)
        self.focus()
        if (pair := self.dashboard.pair) is not None:
            self.run_worker(pair.comparison, thread=True, exit_on_error=False)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Part of Textual."""
        event.stop()
        if event.state is WorkerState.SUCCESS:
            comparison = event.worker.result
            assert isinstance(comparison, Comparison)
            self.show(comparison.rows, comparison.total, COMPARED_FIGURES)
            self.heading = _heading(comparison)
        elif event.state is WorkerState.ERROR:
            if not isinstance(event.worker.error, NoisetopError):
                assert event.worker.error is not None
                raise event.worker.error
            self.heading = f"{self.TITLE}: {printable(str(event.worker.error))}"

    def key_of(self, row: Row) -> Hashable:
        """A source is identified by its path."""
        return row.label

    def pinned_width(self, width: int) -> int:
        """What the figures leave."""
        figures = sum(1 + column.width for column in self.columns)
        return max(COMPARED.width, min(_WIDEST, width - figures))

    def pinned_parts(self, row: Row) -> tuple[tuple[str, str | Style], ...]:
        """The source, its beginning kept."""
        width, label = self._layout.pinned, COMPARED.text(row)
        text = label if cell_len(label) <= width else set_cell_size(label, width - 1) + "…"
        return ((set_cell_size(text, width), ""),)

    def styled_cell(
        self, column: Column[Row], row: Row
    ) -> Sequence[tuple[str, str | Style]] | None:
        """What changed significantly in the colour of its direction, and in words."""
        if column is INTERVAL:
            return ((interval_cell(row), _style(row, "time")),)
        if column is CHANGE:
            words = verdict_of(row)
            figure = words.rpartition(" ")[2]
            return ((CHANGE.pad(_MARKS.get(words[:4], "") + words), _style(row, figure)),)
        for name, columns in _BY_FIGURE.items():
            if column.name in columns and getattr(row, name).significant:
                return ((column.cell(row), _style(row, name)),)
        return None

    def take(self, state: State) -> None:
        """It is about the whole recordings."""

    def draw(self, taken: None) -> None:
        """Part of Panel."""

    def choose(self) -> bool:
        """Part of Panel: Enter shows the source in the tables."""
        row = self.row_at_cursor()
        if row is not None:
            label = "" if row is self.total else exactly(printable(row.label))
            view = self.dashboard.state.view
            self.dashboard.change_view(replace(view, filter=label, cpu=None))
        return True


def _style(row: Row, name: str) -> Style:
    if name not in _BY_FIGURE or not getattr(row, name).significant:
        return _SAME
    figure = getattr(row, name)
    return _MORE if figure.b > figure.a else _LESS


def _heading(comparison: Comparison) -> str:
    changed = comparison.changed
    level = f"family-wise error rate {100 * comparison.alpha:g} %"
    count = f"{len(changed)} significant {'change' if len(changed) == 1 else 'changes'}"
    parts = [f"A {comparison.a.name}, B {comparison.b.name}: {count} ({level})"]
    for name, sample in (("A", comparison.a), ("B", comparison.b)):
        parts += [f"{name}: {caveat}" for caveat in sample.caveats if caveat != _NONE_LOST]
    return printable("  ".join(parts))


PANELS = (Changes,)
