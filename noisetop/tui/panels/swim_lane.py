"""One of the worst moments on a time axis: what ran, nested, who sent it, what the victim did."""

from __future__ import annotations

from typing import ClassVar

from rich.cells import set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.strip import Strip

from noisetop.columns.class_colours import class_colour
from noisetop.columns.moments import MomentRow
from noisetop.columns.noise import label_of
from noisetop.summary.worst import Part
from noisetop.text.sanitize import printable
from noisetop.text.units import format_ns
from noisetop.tui.keys import Key
from noisetop.tui.panel import Panel, Place
from noisetop.tui.state import State
from noisetop.tui.swim_lanes import (
    INTERRUPTED,
    NESTED,
    RUNS,
    WAITS,
    Lane,
    arrow,
    axis_of,
    level_lanes,
    sender_lanes,
    ticks,
    victim_lane,
)

_LABEL = 12
_CURSOR = Style(color="#000000", bgcolor="#ffffff", bold=True)
_TEXT = "#101010"
Line = list[tuple[str, Style]]


class SwimLane(Panel[None], can_focus=True):
    """Lanes, then a line for each interruption in the order of their start."""

    ORDER = 9
    PLACE = Place.OVERLAY
    WIDTH = 1_000
    COVERS = True
    ALLOW_SELECT = False
    OPENED_ON = MomentRow
    KEYS = (Key("↑ ↓  Enter", "in a moment: select an interruption, zoom to it and back"),)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "up", show=False),
        Binding("down,j", "move(1)", "down", show=False),
        Binding("pageup", "move(-10)", "page up", show=False),
        Binding("pagedown", "move(10)", "page down", show=False),
        Binding("home,g", "move(-1000000)", "first", show=False),
        Binding("end,G", "move(1000000)", "last", show=False),
    ]
    DEFAULT_CSS = "SwimLane { height: 100vh; }"

    def __init__(self) -> None:
        super().__init__()
        self.at = 0
        """The interruption with the cursor."""
        self._zoomed = False
        self._top = 0
        self._lines: list[Line] = []
        self._first_part = 0
        """Line of the screen that has the first interruption in view."""

    @property
    def _row(self) -> MomentRow:
        row = self.opened_on
        assert isinstance(row, MomentRow)
        return row

    @property
    def _parts(self) -> tuple[Part, ...]:
        return self._row.moment.parts

    def on_mount(self) -> None:
        """The cursor begins on what took most."""
        interval = self._row.moment.interval
        lasted = format_ns(interval.noise_ns)
        since = (interval.start_ns - self._row.origin_ns) / 1e9
        self.heading = (
            f"{lasted} on CPU {interval.cpu} at {since:.6f} s, {self._row.victim} lost it"
        )
        if self._parts:
            self.at = self._parts.index(max(self._parts, key=lambda part: part.net_ns))
        self.focus()

    def take(self, state: State) -> None:
        """What it shows has happened."""

    def draw(self, taken: None) -> None:
        """Part of Panel."""
        self._lay_out()

    def _lay_out(self) -> None:
        width = self.size.width
        lines = self._lanes(max(width - _LABEL - 1, 1))
        keys = "↑↓ interruption  Enter zooms  Esc closes"
        legend = f"{RUNS} runs  {INTERRUPTED} interrupted  {WAITS} waits for its CPU"
        lines.append([(f" {legend}  {NESTED} interrupted in turn", Style())])
        lines.append([])
        room = max(self.size.height - len(lines) - 1, 1)
        self._top = min(self._top, self.at, max(len(self._parts) - room, 0))
        self._top = max(self._top, self.at - room + 1)
        self._first_part = len(lines)
        texts = [self._part_line(number) for number in range(len(self._parts))][self._top :]
        lines += texts[:room]
        if (more := self._row.moment.more_count) and len(texts) < room:
            left = format_ns(self._row.moment.more_ns)
            lines.append([(f"   {more} shorter ones, {left} in all, are left out", Style())])
        lines += [[] for _ in range(self.size.height - len(lines) - 1)]
        self._lines = [*lines[: max(self.size.height - 1, 0)], [(f" {keys}", Style())]]
        self.refresh()

    def _lanes(self, width: int) -> list[Line]:
        """With the axis above them, and an arrow to the interruption with the cursor."""
        moment, parts = self._row.moment, self._parts
        part = parts[self.at] if parts else None
        axis = axis_of(moment, width, part if self._zoomed else None)
        lines = [_line("", [(ticks(axis, moment.interval.start_ns), Style())])]
        lines += [_line(lane.label, [(lane.text, Style())]) for lane in sender_lanes(parts, axis)]
        if part is not None and (drawn := arrow(part, axis)):
            lines.append(_line("", [(drawn, Style(bold=True))]))
        lines += [_line(lane.label, self._bars(lane)) for lane in level_lanes(parts, axis)]
        lines.append(_line("victim", [(victim_lane(moment, axis).text, Style(dim=True))]))
        return lines

    def _bars(self, lane: Lane) -> Line:
        found: Line = []
        at = 0
        for bar in lane.bars:
            text = bar.text[max(at - bar.x, 0) :]
            found.append((" " * (bar.x - at), Style()))
            found.append((text, self._style(bar.part)))
            at = max(at, bar.x + len(bar.text))
        return found

    def _style(self, number: int) -> Style:
        if number == self.at:
            return _CURSOR
        source = self._parts[number].source
        return Style(color=_TEXT, bgcolor=class_colour(source.noise_class, source.label))

    def _part_line(self, number: int) -> Line:
        part, row = self._parts[number], self._row
        after = part.start_ns - row.moment.interval.start_ns
        figures = f"+{format_ns(after):>7} {format_ns(part.net_ns):>7} net"
        what = f"{'  ' * part.depth}{label_of(part.source)}"
        who = row.who(part)
        if who and part.trigger_ns and part.trigger_ns <= part.start_ns:
            who += f", {format_ns(part.start_ns - part.trigger_ns)} before"
        mark = "▶" if number == self.at else " "
        words = "  ".join(filter(None, [f"{mark} {figures}", what, who]))
        return [(printable(words), _CURSOR if number == self.at else Style())]

    def render_line(self, y: int) -> Strip:
        """Part of Textual's line API."""
        base = self.rich_style
        line = self._lines[y] if y < len(self._lines) else []
        segments = [Segment(text, base + style) for text, style in line]
        return Strip(segments).crop_extend(0, self.size.width, base)

    def on_resize(self) -> None:
        """The axis has other cells."""
        self._lay_out()

    def action_move(self, by: int) -> None:
        """Another interruption."""
        self.at = max(0, min(self.at + by, len(self._parts) - 1))
        self._lay_out()

    def choose(self) -> bool:
        """Part of Panel: Enter zooms to the interruption, or back to the moment."""
        self._zoomed = not self._zoomed and bool(self._parts)
        self._lay_out()
        return False

    def on_click(self, event: events.Click) -> None:
        """Puts the cursor on the interruption; a double click zooms."""
        number = self._top + event.y - self._first_part
        if event.y >= self._first_part and number < len(self._parts):
            self.at = number
            if event.chain > 1:
                self.choose()
            self._lay_out()


def _line(label: str, cells: Line) -> Line:
    return [(set_cell_size(f" {label}", _LABEL) + " ", Style()), *cells]


PANELS = (SwimLane,)
