"""A recording as one line: the noise of its periods, and which of them are shown."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from noisetop.live.noise_columns import NoiseColumns
from noisetop.live.position import Position
from noisetop.tui.severity import severity_of

_BARS = "▁▂▃▄▅▆▇█"
_NO_NOISE = "·"
_UNKNOWN = " "
_SHOWN = Style(reverse=True)


@dataclass(frozen=True, slots=True)
class BarCell:
    """What one cell stands for."""

    text: str
    share: float
    shown: bool


def bar_cells(columns: NoiseColumns, position: Position, width: int) -> list[BarCell]:
    """The whole recording in ``width`` cells; where a cell has several periods the worst counts.

    The height compares with the worst period of all.
    """
    edges = [at * position.count // width for at in range(width + 1)]
    spans = [(first, max(until, first + 1)) for first, until in pairwise(edges)]
    shares = [_worst(columns, *span) for span in spans]
    scale = max((share for share in shares if share is not None), default=0.0)
    return [
        BarCell(
            _bar(share, scale), share or 0.0, span[0] < position.until and span[1] > position.first
        )
        for span, share in zip(spans, shares, strict=True)
    ]


def _worst(columns: NoiseColumns, first: int, until: int) -> float | None:
    found = [column.worst for n in range(first, until) if (column := columns.get(n))]
    return max(found, default=None)


def _bar(share: float | None, scale: float) -> str:
    if share is None:
        return _UNKNOWN
    if share <= 0:
        return _NO_NOISE
    return _BARS[min(int(share / scale * len(_BARS)), len(_BARS) - 1)]


class TimelineBar(Widget):
    """A click goes to the period below it."""

    ALLOW_SELECT = False

    class Clicked(Message):
        """On a period, by number."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    def __init__(self) -> None:
        super().__init__()
        self._columns = NoiseColumns()
        self._position: Position | None = None

    def show(self, columns: NoiseColumns, position: Position) -> None:
        """Draws it as it is now."""
        self._columns, self._position = columns, position
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Part of Textual's line API."""
        width, base = self.size.width, self.rich_style
        if self._position is None or y or width < 3:
            return Strip.blank(width, base)
        segments = [Segment(" ", base)]
        for cell in bar_cells(self._columns, self._position, width - 2):
            style = base + severity_of(cell.share).style
            segments.append(Segment(cell.text, style + _SHOWN if cell.shown else style))
        return Strip([*segments, Segment(" ", base)], width)

    def on_click(self, event: events.Click) -> None:
        """Goes to where it was clicked."""
        if self._position is not None:
            place = max(0, event.x - 1)
            self.post_message(
                self.Clicked(place * self._position.count // max(self.size.width - 2, 1))
            )
