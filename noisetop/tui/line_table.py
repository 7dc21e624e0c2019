"""A table that redraws only the lines whose text has changed."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from noisetop.text.column import Column, Row
from noisetop.tui.state import StatefulApp

GAP = " "
MORE = "›"
LESS = "‹"  # noqa: RUF001
"""In the title line: more columns on that side."""


@dataclass(frozen=True, slots=True)
class Line:
    """What one screen line shows: text per part, each part with the name of its style."""

    style: str
    parts: tuple[tuple[str, str | Style], ...]


@dataclass(frozen=True, slots=True)
class _Layout(Generic[Row]):
    """What fits: the width beside the scroll bar, of the first column, and the columns shown."""

    width: int
    pinned: int
    columns: tuple[Column[Row], ...]


class LineTable(ScrollView, Generic[Row], can_focus=True):
    """Rows of figures below a title line; the first column stays when the others are scrolled.

    show() takes the rows; the table sorts them and keeps the cursor on its row.
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "line-table--head",
        "line-table--total",
        "line-table--cursor",
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "up", show=False),
        Binding("down,j", "move(1)", "down", show=False),
        Binding("pageup", "page(-1)", "page up", show=False),
        Binding("pagedown", "page(1)", "page down", show=False),
        Binding("home,g", "move(-1000000)", "first", show=False),
        Binding("end,G", "move(1000000)", "last", show=False),
        Binding("left", "slide(-1)", "columns to the left", show=False),
        Binding("right", "slide(1)", "columns to the right", show=False),
        Binding("enter", "choose", "choose", show=False),
        Binding("s", "sort", "sort", show=False),
        Binding("S", "reverse", "reverse", show=False),
    ]

    class Chosen(Message):
        """Enter, or a double click on the row that has the cursor."""

        def __init__(self, table: LineTable[Row], row: Row) -> None:
            super().__init__()
            self.table = table
            self.row = row

    class Sorted(Message):
        """The sort order has changed."""

    pinned: Column[Row]
    columns: tuple[Column[Row], ...] = ()
    sort_name: str
    sort_reversed = False

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.rows: list[Row] = []
        """As shown, the total first."""
        self.total: Row | None = None
        self.cursor: Hashable = None
        """Key of the row that it stays on; None: it stays on the first line."""
        self.first_column = 0
        """How many columns are scrolled out to the left."""
        self._cursor_at = 0
        self._lines: dict[int, Line] = {}
        self._layout_used: _Layout[Row] | None = None
        self._styles_by_name: dict[str, Style] = {}

    def key_of(self, row: Row) -> Hashable:
        """Identifies a row from sample to sample."""
        raise NotImplementedError

    def pinned_width(self, width: int) -> int:
        """Cells of the first column in a table of this width."""
        return self.pinned.width

    @property
    def _layout(self) -> _Layout[Row]:
        return self._layout_used or self._lay_out()

    def _lay_out(self) -> _Layout[Row]:
        """Discards the drawn lines when the layout has changed."""
        width = self.scrollable_content_region.width
        pinned = self.pinned_width(width)
        layout = _Layout(width, pinned, self._columns_in(width - pinned))
        if layout != self._layout_used:
            self._layout_used = layout
            self._lines.clear()
        return layout

    @property
    def _fixed_lines(self) -> int:
        return 2 if self.total is not None else 1

    def show(self, rows: Iterable[Row], total: Row | None, columns: Sequence[Column[Row]]) -> None:
        """Takes the rows of a new sample; ``total`` is shown above them."""
        self.columns = tuple(one for one in columns if one.name not in self._hidden)
        self.total = total
        self.first_column = min(self.first_column, max(len(self.columns) - 1, 0))
        self._take(rows)
        size = Size(1, 1 + len(self.rows))
        if size.height != self.virtual_size.height:
            self.virtual_size = size
            self.refresh(layout=True)
        self._repaint()

    @property
    def _hidden(self) -> frozenset[str]:
        app = self.app
        return app.hidden_columns if isinstance(app, StatefulApp) else frozenset()

    def _column_to_sort_by(self) -> Column[Row]:
        for column in self.columns:
            if column.name == self.sort_name:
                return column
        return self.pinned

    def _take(self, rows: Iterable[Row]) -> None:
        """Sorts the rows and moves the cursor to its row."""
        ordered = self._column_to_sort_by().order(rows, reverse=self.sort_reversed)
        self.rows = ordered if self.total is None else [self.total, *ordered]
        if self.cursor is not None:
            for at, row in enumerate(self.rows):
                if self.key_of(row) == self.cursor:
                    self._cursor_at = at
                    return
        self._cursor_at = max(min(self._cursor_at, len(self.rows) - 1), 0)

    def _columns_in(self, room: int) -> tuple[Column[Row], ...]:
        """Columns that fit completely: a cut figure would look like another figure."""
        for end in range(self.first_column, len(self.columns)):
            room -= len(GAP) + self.columns[end].width
            if room < 0:
                return self.columns[self.first_column : end]
        return self.columns[self.first_column :]

    def _repaint(self, *, everything: bool = False) -> None:
        """Marks the visible lines that differ from what is on the screen."""
        layout = self._lay_out()
        if everything:
            self._lines.clear()
            self.refresh()
            return
        for y in range(self.size.height):
            line = self._line(y)
            if self._lines.get(y) != line:
                self._lines[y] = line
                self.refresh(Region(0, y, layout.width, 1))

    def render_line(self, y: int) -> Strip:
        """Part of Textual's line API."""
        if self.scrollable_content_region.width != self._layout.width:
            self._lay_out()  # a scroll bar has come or gone
        line = self._lines.get(y)
        if line is None:
            line = self._lines[y] = self._line(y)
        base = self._style(line.style)
        segments = [
            Segment(text, self._over(base, style) if style else base) for text, style in line.parts
        ]
        width = sum(cell_len(text) for text, _ in line.parts)
        return Strip(segments, width).crop_extend(0, self._layout.width, base)

    def _over(self, base: Style, style: str | Style) -> Style:
        return base + (style if isinstance(style, Style) else self._style(style))

    def _style(self, name: str) -> Style:
        if name not in self._styles_by_name:
            if name:
                style = self.get_component_rich_style(name, partial=not name.startswith("line-"))
            else:
                style = self.rich_style
            self._styles_by_name[name] = style
        return self._styles_by_name[name]

    def notify_style_update(self) -> None:
        """Part of Textual: the theme, the focus or a class has changed."""
        super().notify_style_update()
        self._styles_by_name.clear()
        self._lines.clear()

    def _line(self, y: int) -> Line:
        if y == 0:
            return self._header_line()
        at = y - 1 if y < self._fixed_lines else y - 1 + self.scroll_offset.y
        if at >= len(self.rows):
            return Line("", ())
        row = self.rows[at]
        style = "line-table--total" if row is self.total else ""
        if at == self._cursor_at and self.has_focus:
            style = "line-table--cursor"
        parts = list(self.pinned_parts(row))
        figures = ""
        for column in self._layout.columns:
            styled = self.styled_cell(column, row)
            if styled is None:
                figures += GAP + column.cell(row)
            else:
                parts += [(figures + GAP, ""), *styled]
                figures = ""
        return Line(style, (*parts, (figures, "")))

    def styled_cell(
        self, column: Column[Row], row: Row
    ) -> Sequence[tuple[str, str | Style]] | None:
        """A figure as text and style, which must fill its width exactly; None: without a style."""
        return None

    def pinned_parts(self, row: Row) -> tuple[tuple[str, str | Style], ...]:
        """The first column as text and style; it must fill its width exactly."""
        return ((set_cell_size(self.pinned.text(row), self._layout.pinned), ""),)

    def _header_line(self) -> Line:
        width, pinned, columns = self._layout.width, self._layout.pinned, self._layout.columns
        text = self._title(self.pinned, pinned)
        text += "".join(GAP + self._title(column, column.width) for column in columns)
        if self.first_column:
            text = text[:pinned] + LESS + text[pinned + len(GAP) :]
        if self.first_column + len(columns) < len(self.columns):
            text = text.ljust(width - 1)[: width - 1] + MORE
        return Line("line-table--head", ((text, ""),))

    def _title(self, column: Column[Row], width: int) -> str:
        mark = ""
        if column is self._column_to_sort_by():
            mark = "▲" if column.left is not self.sort_reversed else "▼"
        title = f"{column.title[: width - len(mark)]}{mark}"
        return title.ljust(width) if column.left else title.rjust(width)

    def sort_by(self, name: str, *, reverse: bool = False) -> None:
        """Sorts by the column of that name."""
        self.sort_name, self.sort_reversed = name, reverse
        self._take(row for row in self.rows if row is not self.total)
        self._repaint(everything=True)
        self.post_message(self.Sorted())

    def action_sort(self) -> None:
        """Sorts by the column to the right of the present one."""
        columns = [one for one in (self.pinned, *self.columns) if one.sortable]
        at = columns.index(self._column_to_sort_by())
        self.sort_by(columns[(at + 1) % len(columns)].name)

    def action_reverse(self) -> None:
        """Reverses the sort order."""
        self.sort_by(self._column_to_sort_by().name, reverse=not self.sort_reversed)

    @property
    def sort_title(self) -> str:
        """What it is sorted by, for a title line."""
        return self._title(self._column_to_sort_by(), 99).strip()

    def row_at_cursor(self) -> Row | None:
        """The row that has the cursor."""
        return self.rows[self._cursor_at] if self._cursor_at < len(self.rows) else None

    def move_cursor_to(self, at: int) -> None:
        """Puts the cursor on a row, counted from the top, and scrolls it into view."""
        if not self.rows:
            return
        self._cursor_at = max(0, min(at, len(self.rows) - 1))
        self.cursor = self.key_of(self.rows[self._cursor_at]) if self._cursor_at else None
        line, fixed = self._cursor_at + 1, self._fixed_lines
        top = self.scroll_offset.y
        if line >= fixed:
            if line - top < fixed:
                top = line - fixed
            elif line - top >= self.size.height:
                top = line - self.size.height + 1
            self.scroll_to(y=top, animate=False, force=True)
        self._repaint()

    def action_move(self, by: int) -> None:
        """Moves the cursor by some rows."""
        self.move_cursor_to(self._cursor_at + by)

    def action_page(self, direction: int) -> None:
        """Moves the cursor by what fits on the screen."""
        self.action_move(direction * max(self.size.height - self._fixed_lines - 1, 1))

    def action_slide(self, by: int) -> None:
        """Scrolls the columns to the side."""
        if by > 0 and self.first_column + len(self._layout.columns) >= len(self.columns):
            return
        self.first_column = max(0, self.first_column + by)
        self._repaint(everything=True)

    def action_choose(self) -> None:
        """Posts Chosen for the row with the cursor."""
        row = self.row_at_cursor()
        if row is not None:
            self.post_message(self.Chosen(self, row))

    def on_click(self, event: events.Click) -> None:
        """A title sorts, a row takes the cursor, a double click on the cursor's row chooses it."""
        if event.y == 0:
            self._sort_by_title_at(event.x)
            return
        at = event.y - 1 if event.y < self._fixed_lines else event.y - 1 + self.scroll_offset.y
        if at >= len(self.rows):
            return
        if at == self._cursor_at and event.chain > 1:
            self.action_choose()
        else:
            self.move_cursor_to(at)

    def _sort_by_title_at(self, x: int) -> None:
        wanted = self.pinned
        if x >= self._layout.pinned:
            left = self._layout.pinned
            for column in self._layout.columns:
                left += len(GAP) + column.width
                wanted = column
                if x < left:
                    break
        if wanted.sortable:
            same = wanted is self._column_to_sort_by()
            self.sort_by(wanted.name, reverse=same and not self.sort_reversed)

    def on_resize(self) -> None:
        """The visible lines are others now."""
        self._repaint(everything=True)

    def on_focus(self) -> None:
        """The cursor shows."""
        self._repaint(everything=True)

    def on_blur(self) -> None:
        """The cursor hides."""
        self._repaint(everything=True)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Part of Textual: all rows move, the title line stays."""
        self._lines.clear()
        super().watch_scroll_y(old_value, new_value)
