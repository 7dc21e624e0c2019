"""A panel of plain text that scrolls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from noisetop.text.sanitize import printable
from noisetop.tui.panel import Panel, Place, Taken


class TextPanel(VerticalScroll, Panel[Taken]):
    """Shows lines(); nothing in them is markup."""

    PLACE = Place.OVERLAY
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", "down", show=False),
        Binding("k", "scroll_up", "up", show=False),
    ]
    DEFAULT_CSS = """
    TextPanel {
        height: auto;
        padding: 0 1;
    }
    """

    def lines(self, taken: Taken) -> Iterable[str]:
        """The text, one string per line."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        """Part of Textual."""
        yield Static(markup=False)

    def draw(self, taken: Taken) -> None:
        """Part of Panel."""
        text = "\n".join(map(printable, self.lines(taken)))
        self.query_one(Static).update(Text(text))
