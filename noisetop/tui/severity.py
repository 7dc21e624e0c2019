"""How bad a share of noise is: a level with a mark and a colour, never the colour alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import log10

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


def severity_words() -> str:
    """All marks with the least share of each."""
    return ", ".join(f"{level.mark} {level.name}" for level in LEVELS[1:])


SHADES = 24
"""Steps of the colour between no noise and all time."""
_LEAST, _MOST = -5.0, -0.3
"""Decimal logarithms of the shares of the first and the last step."""


def shade_of(share: float) -> int:
    """Step of a share, from 0, no noise, to SHADES."""
    if share <= 0:
        return 0
    place = (log10(share) - _LEAST) / (_MOST - _LEAST)
    return 1 + max(0, min(int(place * SHADES), SHADES - 1))


@cache
def shade_colour(shade: int) -> str:
    """Its colour, as Rich takes it: between those of the levels."""
    if not shade:
        return NONE.colour
    power = _LEAST + (shade - 0.5) / SHADES * (_MOST - _LEAST)
    at = max(0.0, min(power + 5, len(LEVELS) - 2))
    low, part = int(at), at - int(at)
    first, second = LEVELS[1 + low].rgb, LEVELS[min(2 + low, len(LEVELS) - 1)].rgb
    mixed = (round(a + (b - a) * part) for a, b in zip(first, second, strict=True))
    return "#{:02x}{:02x}{:02x}".format(*mixed)


@cache
def shade_mark(shade: int) -> str:
    """The mark of its level."""
    if not shade:
        return NONE.mark
    return severity_of(10 ** (_LEAST + (shade - 0.5) / SHADES * (_MOST - _LEAST))).mark


def severity_of(share: float) -> Severity:
    """The level of a share of time; 1: all of it."""
    return next(level for level in reversed(LEVELS) if share >= level.least)
