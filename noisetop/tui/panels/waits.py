"""Waits of the victims: who was runnable but not running, how often, how long and why."""

from __future__ import annotations

from collections.abc import Iterable

from noisetop.report.causes import wait_lines
from noisetop.tui.keys import Key
from noisetop.tui.state import Period, State
from noisetop.tui.text_panel import TextPanel

_MOST = 50


class Waits(TextPanel[Period | None]):
    """A line for each victim that waited, longest sum first."""

    TITLE = "Waits of the victims, by reason"
    ORDER = 47
    KEYS = (Key("v", "waits of the victims: preempted, woken and not yet running", "v"),)

    def take(self, state: State) -> Period | None:
        """Its waits."""
        return state.period

    def lines(self, taken: Period | None) -> Iterable[str]:
        """Part of TextPanel."""
        if taken is None:
            yield "no sample yet"
            return
        waits = list(wait_lines(taken.summary, _MOST, self.WIDTH))
        yield from waits or ("no victim waited",)


PANELS = (Waits,)
