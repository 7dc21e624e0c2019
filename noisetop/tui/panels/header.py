"""The line at the top: what is watched, and which period the tables cover."""

from __future__ import annotations

from noisetop.columns.victims import cpu_victim_words
from noisetop.live.playback_feed import PlaybackFeed
from noisetop.text.sanitize import printable
from noisetop.text.units import format_clock, format_ns
from noisetop.tui.moment_text import format_moment
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
        player = self.dashboard.player
        parts = _parts(taken) if player is None else _played_parts(taken, player)
        self.show("  ".join(["noisetop", printable(taken.title), *parts]))


def _parts(state: State) -> list[str]:
    """The tables show ``shown``; the time is that of ``latest``."""
    latest, shown = state.latest, state.shown
    if latest is None or shown is None:
        span_ns = state.interval_ns
        span = "second" if span_ns == 1_000_000_000 else format_ns(span_ns)
        return [f"waiting for the first {span}"]
    if state.past_ns is not None:
        began = format_clock(state.past_ns)
        lasted = format_ns(shown.interval.duration_ns)
        parts = [f"{lasted} from {began}", f"PAUSED (p goes on, {format_clock(state.running_ns)})"]
        return [*parts, *filter(None, [cpu_victim_words(shown.total.cpu_victims)])]
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


def _played_parts(state: State, player: PlaybackFeed) -> list[str]:
    """Over a recording: which part of it is shown."""
    shown = state.shown
    if shown is None or shown.position is None:
        return [f"reading {100 * player.read_share:.0f}%"]
    position, periods = shown.position, player.playback.periods
    begin, end = (
        format_moment(periods.since_start_ns(bound), player.interval_ns)
        for bound in (position.first, position.until)
    )
    what = "since start" if position.since_start else f"from {begin}"
    parts = ["whole recording" if position.is_whole else f"{what} to {end}"]
    parts.append(f"{format_ns(shown.total.duration_ns)}")
    if position.playing:
        parts.append(f"PLAYING {position.speed:g}x")
    if position.until > player.playback.accounted:
        parts.append(f"threads {100 * player.accounted_share:.0f}%")
    if whose := cpu_victim_words(shown.total.cpu_victims):
        parts.append(whose)
    return parts


PANELS = (HeaderLine,)
