"""The timeline of a recording: where one is, and the keys to go elsewhere."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical

from noisetop.columns.noise import label_of
from noisetop.live.playback_feed import PlaybackFeed
from noisetop.live.position import Position
from noisetop.summary.worst import WorstInterruption
from noisetop.text.units import format_ns
from noisetop.tui.keys import Key, ViewKind
from noisetop.tui.moment_text import format_moment
from noisetop.tui.panel import Panel
from noisetop.tui.state import State
from noisetop.tui.text_line import TextLine
from noisetop.tui.timeline_bar import TimelineBar


class Timeline(Vertical, Panel[State]):
    """The noise of all periods, those that are shown set off; below it what they are."""

    ORDER = 4
    VIEWS = frozenset((ViewKind.PLAYBACK, ViewKind.PAIR))
    KEYS = (
        Key("p  Space", "play or pause", action="pause", hint="Space play"),
        Key("n", "the worst moment, then the next worst", "n", "worse", "n worst"),
        Key("N", "back to the worse moment before", "N", "less_bad"),
        Key("t", "figures since the start, or of one period", action="last_only", hint="t total"),
        Key("[", "a range begins with this period", "left_square_bracket", "mark", "[ ] range"),
        Key("]", "the range ends with this period", "right_square_bracket", "range"),
        Key("a", "the whole recording", "a", "all", "a all"),
        Key("+  -", "play faster, slower", action="faster", hint="+ - speed"),
    )
    DEFAULT_CSS = """
    Timeline { height: auto; background: $panel; }
    Timeline > TimelineBar { height: 1; }
    Timeline > TextLine { height: 1; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._message = ""
        """What is told until another part is shown."""
        self._message_at: Position | None = None

    def compose(self) -> ComposeResult:
        """Part of Textual."""
        yield TimelineBar()
        yield TextLine()

    def take(self, state: State) -> State:
        """The position, and how much is known."""
        return state

    def draw(self, taken: State) -> None:
        """Part of Panel."""
        player = self._player
        position = taken.shown.position if taken.shown else None
        if position is None:
            self.query_one(TextLine).show(f"reading the recording: {100 * player.read_share:.0f}%")
            return
        self.query_one(TimelineBar).show(player.columns, position)
        message = self._message if position == self._message_at else ""
        self.query_one(TextLine).show(message or _words(player, position))

    @property
    def _player(self) -> PlaybackFeed:
        player = self.dashboard.player
        assert player is not None
        return player

    def _go(self, position: Position) -> None:
        self._player.go(position)

    def action_worse(self) -> None:
        """The worst moment, then the next worst."""
        self._go_to_moment(1)

    def action_less_bad(self) -> None:
        """Back to the worse one before."""
        self._go_to_moment(-1)

    def _go_to_moment(self, by: int) -> None:
        player = self._player
        if not player.moments:
            found = player.read_share == 1 and player.columns.newest >= 0
            self._tell("no noise was recorded" if found else "looking for the worst moments")
            return
        before = player.wanted.moment
        rank = 0 if before is None else (before + by) % len(player.moments)
        periods, lasted = player.playback.periods, player.moments[rank].interval
        first, last = periods.at(lasted.start_ns), periods.of_end(lasted.end_ns)
        self._go(player.wanted.at_moment(rank, first, last))

    def action_mark(self) -> None:
        """A range begins here."""
        self._go(self._player.wanted.marked())

    def action_range(self) -> None:
        """The range ends here."""
        self._go(self._player.wanted.ranged())

    def action_all(self) -> None:
        """The whole recording."""
        self._go(self._player.wanted.all())

    def _tell(self, message: str) -> None:
        self._message, self._message_at = message, self._player.wanted
        self.draw(self.dashboard.state)

    @on(TimelineBar.Clicked)
    def _clicked(self, event: TimelineBar.Clicked) -> None:
        self._go(self._player.wanted.at(event.number))


def _words(player: PlaybackFeed, position: Position) -> str:
    """Which periods, which range is being chosen, and which moment was gone to."""
    periods = player.playback.periods
    first, last = position.first + 1, position.until
    if position.is_whole:
        parts = [f"{position.count} periods of {format_ns(player.interval_ns)}"]
    else:
        which = f"period {first}" if first == last else f"periods {first} to {last}"
        parts = [f"{which} of {position.count}"]
    if position.mark is not None:
        begin = format_moment(periods.since_start_ns(position.mark), player.interval_ns)
        parts.append(f"range from {begin}: ] ends it")
    if position.moment is not None and position.moment < len(player.moments):
        parts.append(_moment_words(player, position.moment))
    elif not player.moments and player.columns.newest < 0:
        parts.append("looking for the worst moments")
    return "  ".join(parts)


def _moment_words(player: PlaybackFeed, rank: int) -> str:
    one: WorstInterruption = player.moments[rank]
    since_ns = one.interval.start_ns - player.playback.periods.bounds_ns[0]
    place = f"on CPU {one.interval.cpu} at {since_ns / 1e9:.6f} s"
    largest = max(one.parts, key=lambda part: part.net_ns, default=None)
    what = f", mostly {label_of(largest.source)}" if largest else ""
    lasted = format_ns(one.interval.noise_ns)
    return f"worst {rank + 1} of {len(player.moments)}: {lasted} {place}{what}"


PANELS = (Timeline,)
