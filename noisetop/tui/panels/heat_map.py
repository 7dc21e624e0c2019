"""The heat map: CPUs and time, the colour is the share of the time that noise took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from rich.cells import set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.strip import Strip

from noisetop.columns.noise import label_of
from noisetop.events.interruption import Source
from noisetop.live.noise_columns import OCTAVES, Cell, NoiseColumn
from noisetop.machine.topology import in_groups
from noisetop.text.sanitize import printable
from noisetop.text.units import format_ns
from noisetop.tui.heat_cells import (
    Shades,
    octave_label,
    octave_shades,
    segments,
    shares_shades,
)
from noisetop.tui.heat_rows import HeatRow, heat_rows
from noisetop.tui.keys import Key
from noisetop.tui.moment_text import format_moment
from noisetop.tui.panel import Panel, Place
from noisetop.tui.severity import LEVELS, text_on
from noisetop.tui.state import State

_LABEL = 10
_FOOT, _LEGEND_LINE = 4, 2
"""Lines below the map, and which of them tells the colours."""
_WIDEST_CELL = 8
_LABEL_EVERY = 12
_RATES = ("none", "<10/s", "10/s", "100/s", "1k/s", "10k/s")


@dataclass(frozen=True, slots=True)
class _Window:
    """The periods that are drawn: the first, how many fit, and cells for each."""

    first: int
    count: int
    width: int


class HeatMap(Panel[State], can_focus=True):
    """Rows are CPUs, or in the latency mode net times of one CPU; columns are periods."""

    TITLE = "Heat map"
    ORDER = 6
    PLACE = Place.OVERLAY
    WIDTH = 1_000
    COVERS = True
    ALLOW_SELECT = False
    KEYS = (
        Key("m", "heat map: CPUs and time, the colour is the share of noise", "m", hint="m map"),
        Key("← → ↑ ↓", "in the heat map: move the cursor; Home, End: first, latest"),
        Key("l", "in the heat map: net times of the CPU with the cursor, and back"),
        Key("Enter", "in the heat map: show that CPU and that period"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "move(-1)", "earlier", show=False),
        Binding("right", "move(1)", "later", show=False),
        Binding("pageup", "move(-10)", "earlier", show=False),
        Binding("pagedown", "move(10)", "later", show=False),
        Binding("home", "move(-1000000)", "first", show=False),
        Binding("end", "latest", "latest", show=False),
        Binding("up,k", "row(-1)", "up", show=False),
        Binding("down,j", "row(1)", "down", show=False),
        Binding("l", "latency", "latency", show=False),
    ]
    DEFAULT_CSS = """
    HeatMap { height: 100vh; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._cursor: int | None = None
        """Number of its period; None: it stays on the latest."""
        self._cpu = 0
        """Place of its CPU in the order of the rows."""
        self._latency = False
        self._window = _Window(0, 0, 1)
        self._drawn_newest = -1
        self._rows: list[HeatRow] = []
        self._top = 0
        self._mine = -1
        """The CPU that has the cursor."""
        self._cells: dict[int, list[Shades]] = {}
        """By line: what is drawn, so that a new column adds a cell to each."""
        self._message = ""
        self._ordered: tuple[frozenset[int], list[int]] = (frozenset(), [])

    def on_mount(self) -> None:
        """Part of Textual; the cursor begins where the dashboard is."""
        player, view = self.dashboard.player, self.dashboard.state.view
        if player is not None and not player.wanted.is_whole:
            self._cursor = player.wanted.current
        cpu, cpus = view.cpu, self._cpus()
        if cpu is None and player is not None and player.wanted.moment is not None:
            cpu = player.moments[player.wanted.moment].interval.cpu
        if cpu in cpus:
            self._cpu = cpus.index(cpu)
        self.focus()

    def take(self, state: State) -> State:
        """Draws with every sample."""
        return state

    def draw(self, taken: State) -> None:
        """Part of Panel: only the column that is new, where nothing else has changed."""
        newest = self.dashboard.columns.newest
        before, window = self._window, self._lay_out()
        fresh = newest - self._drawn_newest
        if window == before and fresh <= 1 and self._cells and not self._latency:
            self._add_column(newest)
        else:
            self._draw_all()
        self._drawn_newest = newest
        self._show_heading()

    def _add_column(self, number: int) -> None:
        column, window = self.dashboard.columns.get(number), self._window
        place = number - window.first
        for y, cells in self._cells.items():
            cells[place] = shares_shades(column, self._rows[self._top + y].cpus)
        x = _LABEL + place * window.width
        self.refresh(Region(max(x - window.width, 0), 0, 2 * window.width, self.size.height))
        self.refresh(Region(0, self.size.height - _FOOT, self.size.width, _FOOT))

    def _draw_all(self) -> None:
        self._cells.clear()
        self.refresh()

    def _lay_out(self) -> _Window:
        """Which periods fit: those around the cursor, at the right some room for the next."""
        columns, player = self.dashboard.columns, self.dashboard.player
        room = max(self.size.width - _LABEL, 1)
        width = 1
        if player is not None:
            count = len(player.playback.periods)
            width = max(1, min(_WIDEST_CELL, room // count))
        fits = max(room // width, 1)
        first, at = self._window.first, self._at()
        if fits != self._window.count or not first <= at < first + fits:
            first = max(at - fits * 3 // 4, columns.first if player is None else 0)
            first = 0 if at < fits and columns.first < fits - at else first
        self._window = _Window(max(first, 0), fits, width)
        self._lay_out_rows()
        return self._window

    def _lay_out_rows(self) -> None:
        self._mine = self._cpu_at_cursor()
        height = max(self.size.height - _FOOT, 1)
        if self._latency:
            self._rows = [HeatRow(title=octave_label(n)) for n in reversed(range(OCTAVES))]
            self._top = max(0, min(OCTAVES - height, OCTAVES - 1 - self._longest_octave()))
            return
        halves = not self.app.no_color
        self._rows = heat_rows(self._cpus(), self.dashboard.feed.places, height, halves=halves)
        lines = [y for y, row in enumerate(self._rows) if self._cpu_at_cursor() in row.cpus]
        if lines:
            above = lines[0] - 1 if lines[0] and self._rows[lines[0] - 1].title else lines[0]
            self._top = max(min(self._top, above), lines[-1] - height + 1, 0)

    def _longest_octave(self) -> int:
        """The longest net times on the CPU with the cursor, in the periods that are drawn."""
        window, cpu = self._window, self._cpu_at_cursor()
        columns = (self.dashboard.columns.get(window.first + at) for at in range(window.count))
        cells = [column.cells[cpu] for column in columns if column and cpu in column.cells]
        found = (np.flatnonzero(cell.counts) for cell in cells if cell.packed_counts)
        return max((int(octaves[-1]) for octaves in found if len(octaves)), default=0)

    def _cpus(self) -> list[int]:
        """In the order of the rows; put in order only where there are others."""
        column = self.dashboard.columns.get(self.dashboard.columns.newest)
        cells = frozenset(column.cells if column else ())
        if cells != self._ordered[0]:
            groups = in_groups(sorted(cells), self.dashboard.feed.places)
            self._ordered = cells, [cpu for group in groups for cpu in group]
        return self._ordered[1]

    def _at(self) -> int:
        return self.dashboard.columns.newest if self._cursor is None else self._cursor

    def _cpu_at_cursor(self) -> int:
        cpus = self._cpus()
        return cpus[min(self._cpu, len(cpus) - 1)] if cpus else -1

    def render_line(self, y: int) -> Strip:
        """Part of Textual's line API."""
        base, width = self.rich_style, self.size.width
        foot = y - (self.size.height - _FOOT)
        if foot >= 0:
            return Strip(self._foot(foot)).crop_extend(0, width, base)
        if self._top + y >= len(self._rows):
            return Strip.blank(width, base)
        row = self._rows[self._top + y]
        if row.title and not self._latency:
            return Strip([Segment(f" {row.title}", base)]).crop_extend(0, width, base)
        if y not in self._cells:
            self._cells[y] = self._cells_of(row, self._top + y)
        label = set_cell_size(f" {self._label_of(row, self._top + y)}", _LABEL)
        mine = not self._latency and self._mine in row.cpus
        cursor = self._at() - self._window.first if mine else None
        drawn = segments(self._cells[y], self._window.width, cursor)
        return Strip([Segment(label, base), *drawn]).crop_extend(0, width, base)

    def _label_of(self, row: HeatRow, line: int) -> str:
        """Of a CPU with several lines the first has it."""
        if self._latency:
            return row.label
        goes_on = line > self._top and self._rows[line - 1] == row
        return "" if goes_on else f"{'CPU ' if len(row.cpus) == 1 else ''}{row.label}"

    def _foot(self, line: int) -> list[Segment]:
        if line == _LEGEND_LINE:
            return self._legend()
        text = self._hints() if line else self._axis()
        return [Segment(f" {self._cursor_words() if line == 1 else text}", self.rich_style)]

    def _cells_of(self, row: HeatRow, line: int) -> list[Shades]:
        columns, window = self.dashboard.columns, self._window
        found = [columns.get(window.first + at) for at in range(window.count)]
        if not self._latency:
            return [shares_shades(column, row.cpus) for column in found]
        cpu, octave = self._cpu_at_cursor(), OCTAVES - 1 - line
        return [(octave_shades(column, cpu)[octave],) for column in found]

    def _axis(self) -> str:
        """Times below the columns, and where the cursor is."""
        window, line = self._window, ""
        step = max(1, -(-_LABEL_EVERY // window.width))
        for at in range(0, window.count, step):
            if column := self.dashboard.columns.get(window.first + at):
                line = line.ljust(at * window.width) + f"╵{self._time(column)}"
        place = (self._at() - window.first) * window.width
        line = line.ljust(place + window.width)
        line = line[:place] + "▲" * window.width + line[place + window.width :]
        return " " * (_LABEL - 1) + line

    def _time(self, column: NoiseColumn) -> str:
        since_ns = column.start_ns - self.dashboard.columns.origin_ns
        return format_moment(max(since_ns, 0), self.dashboard.feed.interval_ns)

    def _cursor_words(self) -> str:
        """What is below the cursor: how much, for how long, and the culprit."""
        column = self.dashboard.columns.get(self._at())
        cpu = self._cpu_at_cursor()
        if column is None or cpu not in column.cells:
            return self._message or "no figures here yet"
        where = f"CPU {cpu} at {self._time(column)}"
        return self._message or f"{where}  {_cell_words(column.cells[cpu])}"

    def _legend(self) -> list[Segment]:
        """What marks and colours mean."""
        base = self.rich_style
        if self._latency:
            names: Sequence[str] = _RATES
            what = f"net times on CPU {self._cpu_at_cursor()}, interruptions:"
        else:
            names, what = [level.name for level in LEVELS], "share of noise:"
        parts = [Segment(f" {what}", base)]
        for level, name in zip(LEVELS[1:], names[1:], strict=True):
            swatch = Style(color=text_on(level.colour), bgcolor=level.colour)
            parts += [Segment(" ", base), Segment(f" {level.mark} ", swatch)]
            parts.append(Segment(f" {name}", base))
        return parts

    def _hints(self) -> str:
        other = "l CPUs" if self._latency else "l net times"
        return f"Enter shows CPU and period  ←→↑↓ cursor  {other}  End latest  Esc closes"

    def _show_heading(self) -> None:
        what = f"CPU {self._cpu_at_cursor()}: net times" if self._latency else "CPUs and time"
        self.heading = f"{self.TITLE}: {what}"

    def on_resize(self) -> None:
        """Others fit."""
        self._lay_out()
        self._draw_all()

    def _moved(self) -> None:
        self._message = ""
        self._lay_out()
        self._draw_all()
        self._show_heading()

    def action_move(self, by: int) -> None:
        """Goes to an earlier or later period."""
        columns = self.dashboard.columns
        at = max(columns.first, min(self._at() + by, columns.newest))
        live = self.dashboard.player is None
        self._cursor = None if live and at == columns.newest else at
        self._moved()

    def action_latest(self) -> None:
        """Goes to the latest period and stays there."""
        self._cursor = None
        self._moved()

    def action_row(self, by: int) -> None:
        """Goes to another CPU."""
        self._cpu = max(0, min(self._cpu + by, len(self._cpus()) - 1))
        self._moved()

    def action_latency(self) -> None:
        """Net times of the CPU with the cursor, or all CPUs."""
        self._latency = not self._latency
        self._moved()

    def on_click(self, event: events.Click) -> None:
        """Puts the cursor there; a double click shows it."""
        number = self._window.first + (event.x - _LABEL) // self._window.width
        line = self._top + event.y
        if event.x < _LABEL or line >= len(self._rows) or event.y >= self.size.height - _FOOT:
            return
        cpus = self._rows[line].cpus
        if cpus and not self._latency:
            self._cpu = self._cpus().index(cpus[0])
        self._cursor = self._at()
        self.action_move(number - self._at())
        if event.chain > 1 and self.choose():
            self.screen.dismiss()

    def choose(self) -> bool:
        """Part of Panel: the CPU and the period of the cursor."""
        if not self.dashboard.show_period(self._at()):
            self._message = "the figures of this period are gone: only its colours are kept"
            self.refresh()
            return False
        view = self.dashboard.state.view
        self.dashboard.change_view(replace(view, cpu=self._cpu_at_cursor(), per_cpu=False))
        return True


def _cell_words(cell: Cell) -> str:
    share, longest = 100 * cell.share, format_ns(cell.max_single_ns)
    words = f"{share:.3g}% = {format_ns(cell.net_ns)}, longest {longest}"
    if not cell.path:
        return "no noise" if not cell.net_ns else words
    by = f", by {printable(cell.by)}" if cell.by else ""
    return f"{words}, mostly {label_of(Source(cell.path))} ({format_ns(cell.path_ns)}){by}"


PANELS = (HeatMap,)
