"""The panel with the most expensive causes, by the rules of ``noisetop diagnose``."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from noisetop.diagnosis import Diagnosis
from noisetop.diagnosis.brief import brief_lines
from noisetop.tui.text_line import TextLine
from noisetop.units import format_ns

_TOP = 20
_WIDEST = 120
_MARGIN = 4


class CausesScreen(ModalScreen[None]):
    """Closed by q, d or Esc. Figures count from when it was opened."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,d,escape,enter", "dismiss", "close", show=False, priority=True),
        Binding("down,j", "scroll(1)", "down", show=False),
        Binding("up,k", "scroll(-1)", "up", show=False),
    ]

    def compose(self) -> ComposeResult:
        """Part of Textual."""
        with Vertical(id="causes-panel"):
            yield TextLine(id="causes-title")
            with VerticalScroll(id="causes"):
                yield Static(id="causes-text", markup=False)

    def on_mount(self) -> None:
        """Nothing is known yet."""
        self.show_diagnosis(None)

    def show_diagnosis(self, diagnosis: Diagnosis | None) -> None:
        """Takes a new judgement; None: there is none yet."""
        title, text = self.query_one(TextLine), self.query_one("#causes-text", Static)
        if diagnosis is None:
            title.show("Causes of noise  (Esc closes)")
            text.update(Text("collecting from now on"))
            return
        span = format_ns(diagnosis.evidence.duration_ns)
        title.show(f"Causes of noise in {span}, every 5 s anew  (Esc closes)")
        width = min(self.app.size.width, _WIDEST) - _MARGIN
        lines = list(brief_lines(diagnosis, top=_TOP, width=width))
        text.update(Text("\n".join(lines or ["no noise was measured"])))

    def action_scroll(self, lines: int) -> None:
        """Scrolls the text."""
        self.query_one("#causes").scroll_relative(y=lines, animate=False)
