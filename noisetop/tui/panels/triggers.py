"""What triggered the noise of one source."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.style import Style

from noisetop.columns.noise import SourceRow, source_rows
from noisetop.columns.tasks import TaskNamer
from noisetop.columns.triggers import TRIGGER, TRIGGER_FIGURES, TriggerRow, who_of_source
from noisetop.summary.summary import Summary
from noisetop.tui.drill_path import ARROW, path_words
from noisetop.tui.keys import Key
from noisetop.tui.line_table import LineTable
from noisetop.tui.panel import Panel, Place
from noisetop.tui.panels.who import WhoRow
from noisetop.tui.state import Period, State

_WIDEST = 96
_NOTHING = Summary(0, 0, ())


@dataclass(frozen=True, slots=True, eq=False)
class Taken:
    """What the table is drawn from."""

    row: SourceRow
    summary: Summary


class TriggerTable(LineTable[TriggerRow], Panel[Taken]):
    """A row per trigger, by default largest net time first."""

    PLACE = Place.OVERLAY
    ORDER = 25
    KEYS = (Key("Enter  b", "on a source: what triggered it", "b"),)
    OPENED_ON = SourceRow
    DEFAULT_CSS = "TriggerTable { height: auto; }"
    pinned = TRIGGER
    sort_name = "net_ns"

    def key_of(self, row: TriggerRow) -> Hashable:
        """A trigger is identified by all that is known about it."""
        return row.part.trigger

    def pinned_width(self, width: int) -> int:
        """What the figures leave."""
        figures = sum(1 + column.width for column in self.columns)
        return max(TRIGGER.width // 2, min(_WIDEST, width - figures))

    def pinned_parts(self, row: TriggerRow) -> tuple[tuple[str, str | Style], ...]:
        """The label, its beginning kept."""
        width = self._layout.pinned
        fits = cell_len(row.label) <= width
        text = row.label if fits else set_cell_size(row.label, width - 1) + "…"
        return ((set_cell_size(text, width), ""),)

    def take(self, state: State) -> Taken:
        """The row that it was opened on, with the newest figures."""
        row: SourceRow = self.opened_on
        if state.period is None:
            return Taken(row, _NOTHING)
        self.opened_on = row = same_source(state.period, row) or row
        return Taken(row, state.period.summary)

    def on_mount(self) -> None:
        """Part of Textual."""
        row: SourceRow = self.opened_on
        one_of_all = row.cpu is not None and self.dashboard.state.view.cpu is None
        self.step = f"CPU {row.cpu}: {row.label}" if one_of_all else row.label
        self.focus()

    def draw(self, taken: Taken) -> None:
        """Part of Panel."""
        row = taken.row
        self.heading = f"{path_words(self.dashboard)}{ARROW}triggers: Enter shows one"
        self.show(who_of_source(row.source, TaskNamer(taken.summary)), None, TRIGGER_FIGURES)

    def choose(self) -> bool:
        """Part of Panel: Enter shows who that is, above this."""
        self.action_choose()
        return False

    def action_choose(self) -> None:
        """Enter or a double click."""
        if who := self.row_at_cursor():
            self.dashboard.open_row(WhoRow(self.opened_on, who))


def same_source(period: Period, wanted: SourceRow) -> SourceRow | None:
    """The row of the same source, origin and CPU; None: it has none."""
    for cpu in (period.everywhere, *period.summary.cpus):
        if cpu.cpu == wanted.cpu:
            for row in source_rows(period.summary, cpu):
                same = row.source.source, row.source.origin
                if same == (wanted.source.source, wanted.source.origin):
                    return row
    return None


PANELS = (TriggerTable,)
