"""What a panel of the dashboard declares: one file in noisetop/tui/panels for each."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Any, ClassVar, Generic, TypeVar

from textual.reactive import var
from textual.widget import Widget

from noisetop.text.column import Column
from noisetop.tui.keys import Key, ViewKind
from noisetop.tui.state import State, StatefulApp

Taken = TypeVar("Taken")
_NOTHING = object()


class Place(Enum):
    """Where a panel is shown."""

    MAIN = "a part of the main column, always open"
    OVERLAY = "over the main column; its key opens and closes it"


class Panel(Widget, Generic[Taken]):
    """Second base of a panel, after the widget that draws: ``CpuTable(LineTable[…], Panel[…])``.

    A module in noisetop/tui/panels lists its panels in ``PANELS``. Nothing else names them: the app
    binds the keys, the help and the footer list them, and the panel watches the app's state.
    """

    TITLE: ClassVar[str] = ""
    """The heading of an overlay, until the panel sets ``heading``."""
    KEYS: ClassVar[tuple[Key, ...]] = ()
    """Keys for its actions; in the main column they work wherever the focus is."""
    PLACE: ClassVar[Place] = Place.MAIN
    ORDER: ClassVar[int]
    """In the main column from the top; in the help and the footer likewise."""
    OPENED_ON: ClassVar[type[object] | None] = None
    """Opened on a table row of this type, which it finds in ``opened_on``."""
    BY_ENTER: ClassVar[bool] = True
    """Whether Enter on such a row opens it; else its key alone does."""
    WIDTH: ClassVar[int] = 96
    """Of an overlay: the most cells that it uses."""
    COVERS: ClassVar[bool] = False
    """Of an overlay: it fills the screen, so that the main column is not drawn meanwhile."""
    VIEWS: ClassVar[frozenset[ViewKind]] = frozenset(ViewKind)
    """Where it is there."""

    heading: var[str] = var("")
    """What is shown above an overlay."""
    step = ""
    """What an overlay adds to the path of noisetop.tui.drill_path; empty: nothing."""
    opened_on: Any = None
    _taken: object = _NOTHING

    def take(self, state: State) -> Taken:
        """The part of the state that it draws; it is drawn again only when this changes."""
        raise NotImplementedError

    def draw(self, taken: Taken) -> None:
        """Shows what was taken."""
        raise NotImplementedError

    @classmethod
    def help_sections(cls) -> Iterable[tuple[str, Iterable[Column[Any]]]]:
        """Titles for the help, each with the columns to explain."""
        return ()

    def choose(self) -> bool:
        """Enter, of an overlay: shows elsewhere what the cursor is on. False: it stays open."""
        return True

    @property
    def dashboard(self) -> StatefulApp:
        """The app that it is a part of."""
        app = self.app
        assert isinstance(app, StatefulApp)
        return app

    def on_mount(self) -> None:
        """Part of Textual; draws the present state, then every new one."""
        self.heading = self.heading or self.TITLE
        self.watch(self.app, "state", self._on_state)

    def _on_state(self, state: State) -> None:
        if self.PLACE is Place.MAIN and self.dashboard.covered:
            return
        taken = self.take(state)
        if taken != self._taken:
            self._taken = taken
            self.draw(taken)
