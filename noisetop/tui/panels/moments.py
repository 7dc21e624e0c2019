"""The worst moments, with what took most of each and who triggered it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from rich.cells import cell_len, set_cell_size
from rich.style import Style
from textual.binding import Binding, BindingType

from noisetop.columns.moments import MOMENT, MOMENT_FIGURES, MomentRow, moment_rows
from noisetop.events.task_directory import TaskDirectory
from noisetop.summary.max_single import NoiseInterval
from noisetop.summary.worst import WorstInterruption
from noisetop.text.column import Column
from noisetop.tui.keys import Key
from noisetop.tui.line_table import LineTable
from noisetop.tui.panel import Panel, Place
from noisetop.tui.severity import severity_of
from noisetop.tui.state import State, StatefulApp

_NS_PER_S = 1_000_000_000
_WIDEST = 60


@dataclass(frozen=True, slots=True)
class Taken:
    """What the table is drawn from."""

    moments: tuple[WorstInterruption, ...] | None = None
    """None: they are not known yet."""
    origin_ns: int = 0
    directory: TaskDirectory | None = None


class MomentTable(LineTable[MomentRow], Panel[Taken]):
    """A row per moment, longest first. The feed tells them only while it is open."""

    TITLE = "Worst moments"
    ORDER = 8
    PLACE = Place.OVERLAY
    WIDTH = 150
    KEYS = (
        Key("W", "worst moments: what took the time, and by whom", "W", hint="W moments"),
        Key("Enter", "on a moment: its interruptions on a time axis, and who sent them"),
        Key("o", "on a moment: show its CPU and its period in the dashboard"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [Binding("o", "show", "show", show=False)]
    DEFAULT_CSS = "MomentTable { height: auto; min-height: 3; }"
    pinned = MOMENT
    sort_name = "noise_ns"

    @classmethod
    def help_sections(cls) -> Iterable[tuple[str, Iterable[Column[Any]]]]:
        """Part of Panel."""
        yield "worst moments", (MOMENT, *MOMENT_FIGURES)

    def on_mount(self) -> None:
        """Asks the feed for them."""
        self.dashboard.feed.want_moments(wanted=True)
        self.show((), None, MOMENT_FIGURES)
        self.focus()

    def on_unmount(self) -> None:
        """Part of Textual."""
        self.dashboard.feed.want_moments(wanted=False)

    def key_of(self, row: MomentRow) -> Hashable:
        """A moment is identified by CPU and start."""
        return row.moment.interval.cpu, row.moment.interval.start_ns

    def pinned_width(self, width: int) -> int:
        """What the figures leave."""
        figures = sum(1 + column.width for column in self.columns)
        return max(MOMENT.width, min(_WIDEST, width - figures))

    def pinned_parts(self, row: MomentRow) -> tuple[tuple[str, str | Style], ...]:
        """Severity by the length, and what took most of it."""
        severity = severity_of(row.moment.interval.noise_ns / _NS_PER_S)
        width, label = self._layout.pinned - 2, MOMENT.text(row)
        text = label if cell_len(label) <= width else set_cell_size(label, width - 1) + "…"
        return ((f"{severity.mark} ", severity.style), (set_cell_size(text, width), ""))

    def take(self, state: State) -> Taken:
        """Those of the newest sample, also while the tables are paused."""
        latest = state.latest
        if latest is None or latest.moments is None:
            return Taken()
        origin_ns = self.dashboard.columns.origin_ns
        if self.dashboard.player is not None:
            origin_ns = self.dashboard.player.playback.periods.bounds_ns[0]
        return Taken(latest.moments, origin_ns, latest.total.directory)

    def draw(self, taken: Taken) -> None:
        """Part of Panel; until others are known the last ones stay."""
        if taken.moments is None or taken.directory is None:
            self.heading = f"{self.TITLE}: collecting data"
            return
        where = f"since {self.dashboard.state.since}"
        if (player := self.dashboard.player) is not None:
            where = "in the recording" if player.wanted.is_whole else "in this part"
        self.heading = f"{self.TITLE} {where}: Enter shows one, o its CPU and period"
        if not taken.moments:
            self.heading = f"{self.TITLE} {where}: there is no noise"
        rows = moment_rows(taken.moments, taken.origin_ns, taken.directory)
        self.show(rows, None, MOMENT_FIGURES)

    def choose(self) -> bool:
        """Part of Panel: Enter opens one above this list."""
        self.action_choose()
        return False

    def action_show(self) -> None:
        """Its CPU and its period, in the dashboard."""
        row = self.row_at_cursor()
        if row is None:
            return
        if not _show(self.dashboard, row.moment.interval):
            self.heading = f"{self.TITLE}: the figures of that period are gone"
            return
        self.screen.dismiss()


def _show(app: StatefulApp, interval: NoiseInterval) -> bool:
    """False: the figures of the period are gone."""
    if not _go(app, interval):
        return False
    app.change_view(replace(app.state.view, cpu=interval.cpu, per_cpu=False))
    return True


def _go(app: StatefulApp, interval: NoiseInterval) -> bool:
    if app.player is None:
        number = app.columns.number_of(interval.end_ns)
        return number is not None and app.show_period(number)
    periods, wanted = app.player.playback.periods, app.player.wanted
    first, last = periods.at(interval.start_ns), periods.of_end(interval.end_ns)
    ranks = [rank for rank, one in enumerate(app.player.moments) if one.interval == interval]
    if ranks:
        app.player.go(wanted.at_moment(ranks[0], first, last))
    else:
        app.player.go(wanted.at(last))
    return True


PANELS = (MomentTable,)
