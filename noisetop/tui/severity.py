"""How bad a share of stolen time is: a level with a mark and a colour, never the colour alone."""

from __future__ import annotations

from dataclasses import dataclass

from rich.style import Style


@dataclass(frozen=True, slots=True)
class Severity:
    """A level, from its least share on."""

    least: float
    mark: str
    name: str
    rgb: tuple[int, int, int]

    @property
    def colour(self) -> str:
        """As Rich takes it."""
        return "#{:02x}{:02x}{:02x}".format(*self.rgb)

    @property
    def style(self) -> Style:
        """Of a text about it."""
        return Style(color=self.colour)


NONE = Severity(0.0, " ", "none", (40, 48, 64))
LEVELS = (
    NONE,
    Severity(1e-9, "·", "below 0.01%", (58, 84, 120)),
    Severity(0.0001, "-", "0.01%", (46, 125, 140)),
    Severity(0.001, "+", "0.1%", (200, 170, 40)),
    Severity(0.01, "!", "1%", (230, 120, 30)),
    Severity(0.1, "#", "10%", (225, 50, 60)),
)
"""Least first. The colours differ in brightness and from blue to red, which eyes that confuse red
and green tell apart."""


def severity_of(share: float) -> Severity:
    """The level of a share of time; 1: all of it."""
    return next(level for level in reversed(LEVELS) if share >= level.least)
