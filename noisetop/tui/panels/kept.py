"""The worst moments that are kept in files; in the place of the list of moments where there are."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, ClassVar

from rich.style import Style
from textual.binding import Binding, BindingType

from noisetop.columns.kept import KEPT, KEPT_FIGURES
from noisetop.recording.moment import KeptMoment
from noisetop.text.column import Column
from noisetop.tui.keys import Key, ViewKind
from noisetop.tui.line_table import LineTable
from noisetop.tui.panel import Panel, Place
from noisetop.tui.severity import severity_of
from noisetop.tui.state import State

_NS_PER_S = 1_000_000_000
_WIDEST = 44


class KeptTable(LineTable[KeptMoment], Panel[tuple[KeptMoment, ...]]):
    """A row per file, worst first."""

    TITLE = "Kept moments"
    ORDER = 8
    PLACE = Place.OVERLAY
    WIDTH = 150
    VIEWS = frozenset({ViewKind.LIVE})
    KEYS = (
        Key("W", "with --worst: the moments that are kept; again: all since the start", ""),
        Key("Enter", "on a kept moment: its recording"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [Binding("W", "others", "all", show=False)]
    DEFAULT_CSS = "KeptTable { height: auto; min-height: 3; }"
    pinned = KEPT
    sort_name = "rank"

    @classmethod
    def help_sections(cls) -> Iterable[tuple[str, Iterable[Column[Any]]]]:
        """Part of Panel."""
        yield "kept moments", (KEPT, *KEPT_FIGURES)

    def on_mount(self) -> None:
        """Part of Textual."""
        self.show((), None, KEPT_FIGURES)
        self.focus()

    def key_of(self, row: KeptMoment) -> Hashable:
        """A moment is identified by its file."""
        return row.file

    def pinned_width(self, width: int) -> int:
        """What the figures leave."""
        figures = sum(1 + column.width for column in self.columns)
        return max(KEPT.width, min(_WIDEST, width - figures))

    def pinned_parts(self, row: KeptMoment) -> tuple[tuple[str, str | Style], ...]:
        """Severity by what it took, and the source."""
        severity = severity_of(row.figures.net_ns / _NS_PER_S)
        width, label = self._layout.pinned - 2, KEPT.text(row)
        return ((f"{severity.mark} ", severity.style), (label[:width].ljust(width), ""))

    def take(self, state: State) -> tuple[KeptMoment, ...]:
        """With each sample: which files there are."""
        snapshots = self.dashboard.snapshots
        kept: Sequence[KeptMoment] | None = snapshots.kept() if snapshots else None
        return tuple(kept or ())

    def draw(self, taken: tuple[KeptMoment, ...]) -> None:
        """Part of Panel."""
        self.heading = f"{self.TITLE}: Enter opens one, W shows all since the start"
        if not taken:
            self.heading = f"{self.TITLE}: none yet, W shows all since the start"
        self.show(taken, None, KEPT_FIGURES)

    def choose(self) -> bool:
        """Part of Panel: its recording, and this list again when that is closed."""
        row = self.row_at_cursor()
        if row is not None:
            self.dashboard.view_file(row.file)
        return False

    def action_others(self) -> None:
        """The list of all moments since the start in the place of this one."""
        self.screen.dismiss()
        self.dashboard.open_moments()


PANELS = (KeptTable,)
