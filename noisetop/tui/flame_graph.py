"""Draws a flame graph, root at the top, and moves a cursor over it."""

from __future__ import annotations

from typing import ClassVar

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from noisetop.columns.class_colours import class_colour
from noisetop.summary.noise_stacks import Frame, Stack
from noisetop.text.sanitize import printable
from noisetop.text.units import format_ns
from noisetop.tui.flame_layout import FlameCell, flame_levels, nearest

_TALLEST = 3
_EDGE, _CURSOR_EDGE, _FOUND_EDGE = "│", "▶", "◆"
"""Begin a frame: any, the one with the cursor, one that was searched for."""
_TEXT = "#101010"
_CURSOR = Style(color="#000000", bgcolor="#ffffff", bold=True)
_FOUND = Style(color="#ffffff", bgcolor="#a000a0", bold=True)


class FlameGraph(Widget, can_focus=True):
    """Redraws when the tree, the zoom, the cursor or the search has changed."""

    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "side(-1)", "frame at the left", show=False),
        Binding("right,l", "side(1)", "frame at the right", show=False),
        Binding("up,k", "down", "frame below it in the stack", show=False),
        Binding("down,j", "up", "largest frame above it in the stack", show=False),
        Binding("home,g", "first", "the whole", show=False),
    ]
    DEFAULT_CSS = "FlameGraph { height: 1fr; }"

    class Moved(Message):
        """The cursor or the zoom is elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Frame("")
        self.zoom: Stack = ()
        self.cursor: Stack = ()
        self.found: set[Stack] = set()
        """Frames that are set off."""
        self._levels: list[list[FlameCell]] = []

    def show(self, root: Frame) -> None:
        """Takes a new tree; zoom and cursor stay where there is such a frame."""
        self.root = root
        self._lay_out()

    def mark(self, found: set[Stack]) -> None:
        """Sets frames off."""
        self.found = found
        self.refresh()

    def _lay_out(self) -> None:
        self.zoom = nearest(self.root, self.zoom)
        self.cursor = nearest(self.root, self.cursor)
        self._levels = flame_levels(self.root, self.zoom, max(self.size.width, 1))
        if self._cell() is None:
            self.cursor = self.zoom
        self.refresh()
        self.post_message(self.Moved())

    def _cell(self) -> FlameCell | None:
        """That of the cursor."""
        level = self._levels[len(self.cursor)] if len(self.cursor) < len(self._levels) else ()
        return next((cell for cell in level if cell.path == self.cursor), None)

    @property
    def _tall(self) -> int:
        """Lines of a level, as many as there is room for."""
        return max(1, min(_TALLEST, self.size.height // max(len(self._levels), 1)))

    def render_line(self, y: int) -> Strip:
        """Part of Textual's line API."""
        depth, line = divmod(y, self._tall)
        base, width = self.rich_style, self.size.width
        if depth >= len(self._levels):
            return Strip.blank(width, base)
        segments: list[Segment] = []
        at = 0
        for cell in self._levels[depth]:
            segments.append(Segment(" " * (cell.x - at), base))
            segments.append(Segment(self._text(cell, line), base + self._style(cell)))
            at = cell.x + cell.width
        return Strip(segments).crop_extend(0, width, base)

    def _text(self, cell: FlameCell, line: int) -> str:
        edge = _FOUND_EDGE if cell.path in self.found else _EDGE
        edge = _CURSOR_EDGE if cell.path == self.cursor else edge
        return edge + _fitting(self._words(cell, line), cell.width - 1)

    def _words(self, cell: FlameCell, line: int) -> str:
        """Figures only as far as they fit: a cut one would look like another."""
        if line == 0:
            return printable(cell.frame.name)
        if line > 1:
            return ""
        net, share = format_ns(cell.frame.net_ns), cell.frame.net_ns / max(self.root.net_ns, 1)
        room = cell.width - 1
        return next((one for one in (f"{net} {100 * share:.3g}%", net) if len(one) <= room), "")

    def _style(self, cell: FlameCell) -> Style:
        if cell.path == self.cursor:
            return _CURSOR
        if cell.path in self.found:
            return _FOUND
        colour = class_colour(cell.frame.noise_class, cell.frame.name)
        below = len(cell.path) < len(self.zoom)
        return Style(color=_TEXT, bgcolor=colour, italic=below or None)

    def on_resize(self) -> None:
        """Other frames fit."""
        self._lay_out()

    def _go(self, path: Stack) -> None:
        self.cursor = path
        if len(path) < len(self.zoom):
            self.zoom = path
            self._lay_out()
            return
        self.refresh()
        self.post_message(self.Moved())

    def action_side(self, by: int) -> None:
        """The next frame of the level."""
        level = self._levels[len(self.cursor)]
        paths = [cell.path for cell in level]
        at = paths.index(self.cursor) + by if self.cursor in paths else 0
        self._go(paths[max(0, min(at, len(paths) - 1))])

    def action_down(self) -> None:
        """The frame that it lies on; out of the zoom as well."""
        self._go(self.cursor[:-1])

    def action_up(self) -> None:
        """The largest frame on it."""
        above = len(self.cursor) + 1
        for cell in self._levels[above] if above < len(self._levels) else ():
            if cell.path[:-1] == self.cursor:
                self._go(cell.path)
                return

    def action_first(self) -> None:
        """The whole."""
        self._go(())

    def zoom_in(self) -> None:
        """The frame with the cursor gets the whole width."""
        self.zoom = self.cursor
        self._lay_out()

    def zoom_out(self) -> bool:
        """One frame further down. False: it shows the whole."""
        if not self.zoom:
            return False
        self.zoom = self.zoom[:-1]
        self._lay_out()
        return True

    def on_click(self, event: events.Click) -> None:
        """Puts the cursor there; a double click zooms in."""
        depth = event.y // self._tall
        for cell in self._levels[depth] if depth < len(self._levels) else ():
            if cell.x <= event.x < cell.x + cell.width:
                self._go(cell.path)
                if event.chain > 1:
                    self.zoom_in()
                return


def _fitting(text: str, width: int) -> str:
    """In exactly so many cells, cut with …."""
    if cell_len(text) > width > 1:
        return set_cell_size(text, width - 1) + "…"
    return set_cell_size(text, max(width, 0))
