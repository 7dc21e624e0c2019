"""What is traced beside the noise, in lines below it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from noisetop.columns.side_tables import declared_tables, side_tables, table_lines
from noisetop.text.column import Column
from noisetop.tui.panel import Panel
from noisetop.tui.state import Period, State
from noisetop.tui.text_line import TextLine


class SideTables(TextLine, Panel[tuple[Period | None, int | None]]):
    """For each kind a line of titles and one for each row; hidden when nothing occurred."""

    ORDER = 30
    DEFAULT_CSS = """
    SideTables {
        background: $panel;
        display: none;
    }
    """

    @classmethod
    def help_sections(cls) -> Iterable[tuple[str, Iterable[Column[Any]]]]:
        """Part of Panel."""
        for table in declared_tables():
            yield table.title, (table.kind, *table.figures)

    def take(self, state: State) -> tuple[Period | None, int | None]:
        """Figures, and the CPU whose sources are shown; None: all."""
        return state.period, state.view.cpu

    def draw(self, taken: tuple[Period | None, int | None]) -> None:
        """Part of Panel."""
        period, number = taken
        lines: list[str] = []
        if period is not None:
            cpu = next((one for one in period.summary.cpus if one.cpu == number), period.everywhere)
            tables = side_tables(period.summary)
            lines = [
                line for table in tables for line in table_lines(table, period.summary, (cpu,))
            ]
        self.show(*lines)
        self.display = bool(lines)
        self.styles.height = len(lines)


PANELS = (SideTables,)
