"""What overlays about causes have in common: the feed diagnoses, and a remedy can be copied."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from noisetop.diagnosis import Diagnosis
from noisetop.diagnosis.finding import Finding
from noisetop.tui.remedy_copy import copy_remedy
from noisetop.tui.state import State
from noisetop.tui.text_panel import TextPanel

MARGIN = 6
"""Cells of an overlay that its text does not get."""


class CausesPanel(TextPanel[Diagnosis | None], can_focus=True):
    """The feed diagnoses while somebody looks at it, because that costs CPU time."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("y", "copy", "copy", show=False)]
    WIDTH = 120

    def __init__(self) -> None:
        super().__init__()
        self.diagnosis: Diagnosis | None = None
        """What is shown."""

    def on_mount(self) -> None:
        """Asks the feed for a diagnosis."""
        self.dashboard.want_causes(self, wanted=True)
        self.focus()

    def on_unmount(self) -> None:
        """Part of Textual."""
        self.dashboard.want_causes(self, wanted=False)

    def take(self, state: State) -> Diagnosis | None:
        """The newest diagnosis, also while the tables are paused."""
        return state.latest.diagnosis if state.latest else None

    def selected(self) -> Finding | None:
        """The cause whose remedy is copied; None: there is none."""
        raise NotImplementedError

    def action_copy(self) -> None:
        """The command of the remedy to the clipboard of the terminal, with what it does."""
        finding = self.selected()
        if finding is not None and self.diagnosis is not None:
            copy_remedy(self.dashboard, finding, self.diagnosis)
