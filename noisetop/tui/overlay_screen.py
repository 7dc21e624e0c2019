"""A panel over the main column."""

from __future__ import annotations

from typing import Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from noisetop.text.column import shorten_end
from noisetop.tui.keys import ON_OVERLAYS, OPEN, command_name
from noisetop.tui.panel import Panel
from noisetop.tui.text_line import TextLine

_CLOSES = "  (Esc closes)"


class OverlayScreen(ModalScreen[None]):
    """Closed by q, Esc, Enter or the key of its panel; the panel goes on with the samples."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,escape", "dismiss", "close", show=False),
        # A table in the panel would take Enter for itself.
        Binding("enter", "choose", "close", show=False, priority=True),
        *(Binding(key.names, f"app.{key.action}", key.help) for key in ON_OVERLAYS if key.names),
    ]
    DEFAULT_CSS = """
    OverlayScreen {
        align: center middle;
    }
    OverlayScreen > Vertical {
        max-width: 100%;
        height: auto;
        max-height: 100%;
        background: $panel;
    }
    OverlayScreen TextLine {
        height: 1;
        text-style: bold;
    }
    """

    def __init__(self, panel: Panel[Any]) -> None:
        super().__init__()
        self.panel = panel
        opening = [key for key in panel.KEYS if key.action == OPEN]
        self._keys = {name for key in opening for name in key.names.split(",")}

    def compose(self) -> ComposeResult:
        """Part of Textual."""
        with Vertical() as box:
            box.styles.width = self.panel.WIDTH
            yield TextLine()
            yield self.panel

    def on_mount(self) -> None:
        """The heading may change with the samples."""
        own_keys = self.panel.dashboard.own_keys
        if own := own_keys.get(command_name(OPEN, type(self.panel).__name__)):
            self._keys = set(own.split(","))
        self.watch(self.panel, "heading", self._show_heading)
        self.set_class(self.panel.COVERS, "covers")

    def on_unmount(self) -> None:
        """What stood still is drawn again."""
        if not self.panel.dashboard.covered:
            self.panel.dashboard.uncover()

    def _show_heading(self, heading: str) -> None:
        room = min(self.panel.WIDTH, self.app.size.width) - len(_CLOSES) - 2
        self.query_one(TextLine).show(shorten_end(heading, max(room, 1)) + _CLOSES)

    def action_choose(self) -> None:
        """Enter: what the panel does with it, then it closes."""
        if self.panel.choose():
            self.dismiss()

    def on_resize(self, event: events.Resize) -> None:
        """The heading takes the first line."""
        self.panel.styles.max_height = max(event.size.height - 1, 1)
        self._show_heading(self.panel.heading)

    def on_key(self, event: events.Key) -> None:
        """Its own key closes what it opened, that of another overlay opens that in its place."""
        if event.key in self._keys:
            event.stop()
            self.dismiss()
        elif event.key not in self.active_bindings and self.panel.dashboard.opens(event.key):
            event.stop()
            self.dismiss()
            self.panel.dashboard.open_overlay(event.key)
