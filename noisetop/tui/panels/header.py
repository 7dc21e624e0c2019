"""The line at the top: what is watched, and which period the tables cover."""

from __future__ import annotations

from noisetop.columns.victims import cpu_victim_words
from noisetop.text.sanitize import printable
from noisetop.text.units import format_clock, format_ns
from noisetop.tui.panel import Panel
from noisetop.tui.state import State
from noisetop.tui.text_line import TextLine


class HeaderLine(TextLine, Panel[State]):
    """``noisetop  CPUs 2-3  since start 00:01:23``."""

    ORDER = 0
    DEFAULT_CSS = """
    HeaderLine {
        height: 1;
        background: $primary 30%;
        text-style: bold;
    }
    """

    def take(self, state: State) -> State:
        """Time goes on with every sample."""
        return state

    def draw(self, taken: State) -> None:
        """Part of Panel."""
        self.show("  ".join(["noisetop", printable(taken.title), *_parts(taken)]))


def _parts(state: State) -> list[str]:
    """The tables show ``shown``; the time is that of ``latest``."""
    latest, shown = state.latest, state.shown
    if latest is None or shown is None:
        span_ns = state.interval_ns
        span = "second" if span_ns == 1_000_000_000 else format_ns(span_ns)
        return [f"waiting for the first {span}"]
    if state.last_only:
        parts = [f"last {format_ns(shown.interval.duration_ns)}"]
    else:
        parts = [f"since {state.since} {format_clock(latest.total.duration_ns)}"]
    if state.paused:
        parts.append(f"PAUSED at {format_clock(shown.total.duration_ns)}")
    if latest.ended:
        parts.append(f"finished ({printable(latest.ended)})")
    if whose := cpu_victim_words(shown.total.cpu_victims):
        parts.append(whose)
    return parts


PANELS = (HeaderLine,)
