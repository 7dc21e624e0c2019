"""The line for a time to go to, in a recording and in the last minutes of a running trace."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input

from noisetop.errors import UsageError
from noisetop.tui.keys import Key
from noisetop.tui.moment_text import parse_moment
from noisetop.tui.panel import Panel
from noisetop.tui.panels.sources import SourceTable
from noisetop.tui.state import State
from noisetop.tui.text_line import TextLine


class Jump(Vertical, Panel[None]):
    """Hidden until its key opens it; what is wrong is said below the line, which stays open."""

    ORDER = 5
    KEYS = (
        Key("J", "go to a time since the start: 12.5s, 01:23, or from here: +10s, -10s", "J",
            "jump", "J time"),
    )  # fmt: skip
    DEFAULT_CSS = """
    Jump { display: none; height: auto; background: $panel; }
    Jump.open { display: block; }
    Jump > TextLine { display: none; height: 1; }
    Jump.wrong > TextLine { display: block; }
    Jump > Input {
        height: 1;
        border: none;
        padding: 0 1;
        background: $panel;
    }
    Jump > Input:focus { border: none; }
    """

    def compose(self) -> ComposeResult:
        """Part of Textual."""
        field = Input(placeholder="time since the start: 12.5s, 01:23, +10s, -10s", compact=True)
        field.cursor_blink = False
        yield field
        yield TextLine()

    def take(self, state: State) -> None:
        """It takes nothing."""

    def draw(self, taken: None) -> None:
        """Part of Panel."""

    def action_jump(self) -> None:
        """Opens the line."""
        field = self.query_one(Input)
        field.value = ""
        self.remove_class("wrong")
        self.add_class("open")
        field.focus()

    @on(Input.Submitted)
    def _jump(self, event: Input.Submitted) -> None:
        event.stop()
        wrong = self._go(event.value) if event.value.strip() else ""
        if wrong:
            self.query_one(TextLine).show(wrong)
            self.add_class("wrong")
        else:
            self._close()

    def _go(self, text: str) -> str:
        """What is wrong; empty: it is shown."""
        try:
            since_ns = parse_moment(text, self._here_ns())
        except UsageError as error:
            return str(error)
        player, columns = self.dashboard.player, self.dashboard.columns
        if player is not None:
            periods = player.playback.periods
            player.go(player.wanted.at(periods.at(periods.bounds_ns[0] + since_ns)))
            return ""
        number = columns.number_of(columns.origin_ns + max(since_ns, 0) + 1)
        if number is None:
            return "no figures of that time: it is to come, or too long ago"
        return "" if self.dashboard.show_period(number) else "the figures of that time are gone"

    def _here_ns(self) -> int:
        """Since the start: where what is shown begins."""
        player, state = self.dashboard.player, self.dashboard.state
        if player is not None:
            return player.playback.periods.since_start_ns(player.wanted.current)
        if state.past_ns is not None:
            return state.past_ns
        newest = self.dashboard.columns.get(self.dashboard.columns.newest)
        return newest.start_ns - self.dashboard.columns.origin_ns if newest else 0

    def key_escape(self) -> None:
        """Closes the line; else it is the key of the sources."""
        self._close()

    def _close(self) -> None:
        self.remove_class("open")
        self.screen.query_one(SourceTable).focus()


PANELS = (Jump,)
