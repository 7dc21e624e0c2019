"""One or more lines of plain text that redraw only when they change; nothing in them is markup."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from textual.strip import Strip
from textual.widget import Widget


class TextLine(Widget):
    """Shows ``lines``; a line that begins with ``ALERT`` is set off."""

    ALLOW_SELECT = False
    ALERT = "!"
    COMPONENT_CLASSES: ClassVar[set[str]] = {"text-line--alert"}

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.lines: tuple[str, ...] = ()

    def show(self, *lines: str) -> None:
        """Takes new text."""
        if lines != self.lines:
            self.lines = lines
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Part of Textual's line API."""
        text = self.lines[y] if y < len(self.lines) else ""
        style = self.rich_style
        if text.startswith(self.ALERT):
            style = self.get_component_rich_style("text-line--alert")
        return Strip([Segment(f" {text}", style)]).crop_extend(0, self.size.width, style)
