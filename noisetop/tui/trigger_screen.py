"""The panel that tells who caused the noise of one source."""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar

from rich.cells import cell_len, set_cell_size
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from noisetop.columns import SourceRow
from noisetop.trigger_columns import TRIGGER, TRIGGER_FIGURES, TriggerRow, triggers_of_source
from noisetop.tui.line_table import LineTable
from noisetop.tui.text_line import TextLine

_WIDEST = 96


class TriggerTable(LineTable[TriggerRow]):
    """A row per trigger, largest net time first unless told otherwise."""

    pinned = TRIGGER
    sort_name = "net_ns"

    def key_of(self, row: TriggerRow) -> Hashable:
        """Triggers are recognised by all that is known about them."""
        return row.part.trigger

    def pinned_width(self, width: int) -> int:
        """What the figures leave, but never so that they need the room."""
        figures = sum(1 + column.width for column in self.columns)
        return max(TRIGGER.width // 2, min(_WIDEST, width - figures))

    def pinned_parts(self, row: TriggerRow) -> tuple[tuple[str, str], ...]:
        """The label, its beginning kept."""
        width = self._layout.pinned
        fits = cell_len(row.label) <= width
        text = row.label if fits else set_cell_size(row.label, width - 1) + "…"
        return ((set_cell_size(text, width), ""),)


class TriggerScreen(ModalScreen[None]):
    """Closed by q, b or Esc; goes on with the samples while it is open."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,b,escape,enter", "dismiss", "close", show=False, priority=True),
        Binding("s", "sort", "sort", show=False),
        Binding("S", "reverse", "reverse", show=False),
    ]

    def __init__(self, row: SourceRow) -> None:
        super().__init__()
        self.row = row

    def compose(self) -> ComposeResult:
        """Part of Textual."""
        with Vertical(id="triggers-panel"):
            yield TextLine(id="triggers-title")
            yield TriggerTable(id="triggers")

    def on_mount(self) -> None:
        """Shows the row that was chosen."""
        self.query_one(TriggerTable).focus()
        self.show_row(self.row)

    def show_row(self, row: SourceRow) -> None:
        """Takes the figures of a new sample."""
        self.row = row
        where = "all CPUs" if row.cpu is None else f"CPU {row.cpu}"
        self.query_one(TextLine).show(f"Who causes {row.label} on {where}  (Esc closes)")
        self.query_one(TriggerTable).show(triggers_of_source(row.source), None, TRIGGER_FIGURES)

    def action_sort(self) -> None:
        """Sorts by the next column."""
        self.query_one(TriggerTable).sort_by_next()

    def action_reverse(self) -> None:
        """Turns the order round."""
        self.query_one(TriggerTable).reverse_sort()
