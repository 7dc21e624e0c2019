"""Which columns the tables show."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar

from rich.cells import set_cell_size
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType

from noisetop.text.column import Column
from noisetop.tui.keys import Key
from noisetop.tui.line_table import LineTable
from noisetop.tui.panel import Panel, Place
from noisetop.tui.state import State


@dataclass(frozen=True, slots=True)
class Choice:
    """A column of a table in the main column."""

    name: str
    title: str
    table: str
    help: str
    hidden: bool
    rank: int


CHOICE: Column[Choice] = Column(
    "title", "Column", "", 16,
    lambda one: f"{'☐' if one.hidden else '☑'} {one.title}", str, "", left=True, sortable=False,
)  # fmt: skip
_RANK: Column[Choice] = Column("rank", "", "", 1, lambda one: -one.rank, lambda _: "", "")
_TABLE: Column[Choice] = Column(
    "table", "Table", "", 10, lambda one: one.table, str, "", left=True, sortable=False
)
_HELP: Column[Choice] = Column(
    "help", "Meaning", "", 62, lambda one: set_cell_size(one.help, 62), str, "", left=True,
    sortable=False,
)  # fmt: skip


@cache
def _offered() -> tuple[tuple[str, Column[object]], ...]:
    """The columns with the title of their table, but for the first one, which stays."""
    from noisetop.tui.panels import load_panels  # which loads this module

    tables = [panel for panel in load_panels() if panel.PLACE is Place.MAIN]
    return tuple(
        (title, column)
        for panel in tables
        for title, columns in panel.help_sections()
        if title in ("CPUs", "sources")
        for column in list(columns)[1:]
    )


class Columns(LineTable[Choice], Panel[State]):
    """A row per column; Enter, Space or a click hides it or shows it again."""

    TITLE = "Columns: Enter hides and shows, C keeps it in config.toml"
    ORDER = 90
    PLACE = Place.OVERLAY
    KEYS = (Key("O", "columns of the tables: hide and show them", "O"),)
    BINDINGS: ClassVar[list[BindingType]] = [Binding("space", "switch", "hide", show=False)]
    DEFAULT_CSS = "Columns { height: auto; }"
    pinned = CHOICE
    sort_name = _RANK.name

    def on_mount(self) -> None:
        """The cursor begins on the first."""
        self.focus()
        self._show()

    def key_of(self, row: Choice) -> Hashable:
        """A column by its table and its name."""
        return row.table, row.name

    def pinned_parts(self, row: Choice) -> tuple[tuple[str, str | Style], ...]:
        """The title with its mark."""
        return ((set_cell_size(CHOICE.text(row), self._layout.pinned), ""),)

    def take(self, state: State) -> State:
        """It has the state of nothing else."""
        return state

    def draw(self, taken: State) -> None:
        """Part of Panel."""

    def _show(self) -> None:
        rows: Iterable[Choice] = (
            Choice(
                column.name, column.title, table, column.help,
                column.name in self.dashboard.hidden_columns, rank,
            )
            for rank, (table, column) in enumerate(_offered())
        )  # fmt: skip
        self.show(rows, None, (_RANK, _TABLE, _HELP))

    def choose(self) -> bool:
        """Part of Panel: Enter."""
        self.action_switch()
        return False

    def action_switch(self) -> None:
        """Hides the column, or shows it again."""
        row = self.row_at_cursor()
        if row is None:
            return
        self.dashboard.hidden_columns ^= {row.name}
        self._show()
        # Another period, so that the tables draw again.
        state = self.dashboard.state
        if state.period is not None:
            self.dashboard.state = replace(state, period=replace(state.period))

    def on_click(self, event: events.Click) -> None:
        """Puts the cursor there, and hides or shows it."""
        super().on_click(event)
        if event.y and event.chain == 1:
            self.action_switch()


PANELS = (Columns,)
