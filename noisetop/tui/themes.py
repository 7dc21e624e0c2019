"""Looks of the dashboard: a theme of Textual and the colours of severity that go with it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from noisetop.tui.severity import DARK, LIGHT, UNIFORM, Palette


@dataclass(frozen=True, slots=True)
class Look:
    """One that can be selected."""

    themes: tuple[str, ...]
    """Textual's names; the first that this version has."""
    palette: Palette

    def theme(self, available: Collection[str]) -> str:
        """Textual's name."""
        return next((one for one in self.themes if one in available), "textual-dark")


LOOKS: Mapping[str, Look] = {
    "dark": Look(("textual-dark",), DARK),
    "light": Look(("textual-light",), LIGHT),
    "terminal": Look(("ansi-dark", "textual-ansi"), DARK),
    "terminal-light": Look(("ansi-light", "textual-ansi"), LIGHT),
    "colour-blind": Look(("textual-dark",), UNIFORM),
}
"""By name. ``terminal``: in the colours that the terminal itself has. ``colour-blind``: brightness
alone tells severities apart."""
DEFAULT = "dark"
_BRIGHT = ("7", "15")


def look_of_terminal(environment: Mapping[str, str]) -> str:
    """Light where the terminal says that its background is, as rxvt, Konsole and others do in
    COLORFGBG; else dark."""
    background = environment.get("COLORFGBG", "").rpartition(";")[2]
    return "light" if background in _BRIGHT else DEFAULT


def next_look(name: str) -> str:
    """The one after it."""
    names = list(LOOKS)
    return names[(names.index(name) + 1) % len(names)]
