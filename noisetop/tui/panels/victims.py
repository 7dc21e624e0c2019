"""Where the time of each victim thread went, as an overlay."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from noisetop.columns.victims import (
    RIVALS,
    TITLE,
    VICTIM,
    VICTIM_FIGURES,
    shown_victims,
    victim_lines,
)
from noisetop.text.column import Column
from noisetop.tui.keys import Key
from noisetop.tui.state import Period, State
from noisetop.tui.text_panel import TextPanel

_TOP = 100


class Victims(TextPanel[Period | None]):
    """A row per thread, who lost most first."""

    TITLE = TITLE
    ORDER = 35
    KEYS = (Key("v", "where the time of each victim thread went", "v"),)

    @classmethod
    def help_sections(cls) -> Iterable[tuple[str, Iterable[Column[Any]]]]:
        """Part of Panel."""
        yield "victims", (VICTIM, *VICTIM_FIGURES, RIVALS)

    def take(self, state: State) -> Period | None:
        """The summary has it."""
        return state.period

    def lines(self, taken: Period | None) -> Iterable[str]:
        """Part of TextPanel."""
        if taken is None:
            yield "no sample yet"
            return
        lines = list(victim_lines(shown_victims(taken.summary, _TOP)))
        if lines or self.dashboard.player is None:
            yield from lines or ("no victim ran",)
        else:
            yield "not available for this part; the whole recording may have it (a)"


PANELS = (Victims,)
