"""How bad a share of noise is: a level with a mark and a colour, never the colour alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import log10

from rich.style import Style

Rgb = tuple[int, int, int]
Palette = tuple[Rgb, ...]
"""A colour for each level, least first."""
DARK: Palette = (
    (40, 48, 64), (58, 84, 120), (46, 125, 140), (200, 170, 40), (230, 120, 30), (225, 50, 60),
)  # fmt: skip
LIGHT: Palette = (
    (226, 230, 238), (96, 120, 160), (20, 110, 125), (140, 108, 0), (190, 88, 0), (185, 20, 35),
)  # fmt: skip
"""Legible as text on white."""
UNIFORM: Palette = (
    (36, 36, 44), (98, 68, 130), (70, 100, 150), (48, 150, 140), (110, 205, 90), (253, 231, 60),
)  # fmt: skip
"""Each brighter than the one before, from violet to yellow: any eye tells them apart."""


@dataclass(frozen=True, slots=True)
class Severity:
    """A level, from its least share on."""

    least: float
    mark: str
    name: str
    number: int

    @property
    def colour(self) -> str:
        """As Rich takes it."""
        return _hex(_palette[self.number])

    @property
    def style(self) -> Style:
        """Of a text about it."""
        return _style(self.colour)


@cache
def _style(colour: str) -> Style:
    return Style(color=colour)


@cache
def _hex(rgb: Rgb) -> str:
    return "#{:02x}{:02x}{:02x}".format(*rgb)


NONE = Severity(0.0, " ", "none", 0)
LEVELS = (
    NONE,
    Severity(1e-9, "·", "below 0.01%", 1),
    Severity(0.0001, "-", "0.01%", 2),
    Severity(0.001, "+", "0.1%", 3),
    Severity(0.01, "!", "1%", 4),
    Severity(0.1, "#", "10%", 5),
)
"""Least first."""
_palette = DARK


def use_palette(colours: Palette) -> None:
    """From now on severities have these colours, in this process: it has one terminal."""
    global _palette
    _palette = colours


def palette() -> Palette:
    """The colours in use."""
    return _palette


def text_on(colour: str) -> str:
    """Black or white, whichever is legible on a colour."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "#000000" if 299 * red + 587 * green + 114 * blue > 140_000 else "#ffffff"


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


def shade_colour(shade: int) -> str:
    """Its colour, as Rich takes it: between those of the levels."""
    return _shade_colour(shade, _palette)


@cache
def _shade_colour(shade: int, colours: Palette) -> str:
    if not shade:
        return _hex(colours[0])
    power = _LEAST + (shade - 0.5) / SHADES * (_MOST - _LEAST)
    at = max(0.0, min(power + 5, len(LEVELS) - 2))
    low, part = int(at), at - int(at)
    first, second = colours[1 + low], colours[min(2 + low, len(LEVELS) - 1)]
    red, green, blue = (round(a + (b - a) * part) for a, b in zip(first, second, strict=True))
    return _hex((red, green, blue))


@cache
def shade_mark(shade: int) -> str:
    """The mark of its level."""
    if not shade:
        return NONE.mark
    return severity_of(10 ** (_LEAST + (shade - 0.5) / SHADES * (_MOST - _LEAST))).mark


def severity_of(share: float) -> Severity:
    """The level of a share of time; 1: all of it."""
    return next(level for level in reversed(LEVELS) if share >= level.least)
