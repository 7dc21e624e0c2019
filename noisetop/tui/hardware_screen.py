"""The panel that tells what the machine itself admits to."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from noisetop.hardware_figures import hardware_lines
from noisetop.sanitize import printable
from noisetop.summary import Summary


class HardwareScreen(ModalScreen[None]):
    """Closed by q, w, Esc or Enter; goes on with the samples while it is open."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,w,escape,enter", "dismiss", "close", show=False),
        Binding("down,j", "scroll(1)", "down", show=False),
        Binding("up,k", "scroll(-1)", "up", show=False),
    ]

    def __init__(self, summary: Summary) -> None:
        super().__init__()
        self.summary = summary

    def compose(self) -> ComposeResult:
        """Part of Textual."""
        with VerticalScroll(id="hardware-panel"):
            yield Static(Text(hardware_text(self.summary)), markup=False)

    def show_summary(self, summary: Summary) -> None:
        """Takes the figures of a new sample."""
        self.query_one(Static).update(Text(hardware_text(summary)))

    def action_scroll(self, lines: int) -> None:
        """Scrolls the text."""
        self.query_one("#hardware-panel").scroll_relative(y=lines, animate=False)


def hardware_text(summary: Summary) -> str:
    """Every figure with its resolution, then what is not told and why."""
    lines = ["WHAT THE HARDWARE ADMITS TO: NO PART OF THE NOISE"]
    lines += [f"  {line}" for line in hardware_lines(summary.hardware)]
    lines += ["", "NOT TOLD ON THIS MACHINE"]
    lines += [f"  {line}" for line in summary.missing_hardware or ("nothing is left out",)]
    return "\n".join(map(printable, lines))
