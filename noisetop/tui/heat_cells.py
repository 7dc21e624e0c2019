"""Cells of the heat map: from shares to text and colours, drawn once for each pair of shades."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import groupby

from rich.segment import Segment
from rich.style import Style

from noisetop.live.noise_columns import FIRST_OCTAVE, OCTAVES, NoiseColumn
from noisetop.text.units import format_ns
from noisetop.tui.severity import (
    Palette,
    palette,
    shade_colour,
    shade_mark,
    shade_of,
    text_on,
)

_NS_PER_S = 1_000_000_000
_PER_S_OF_ALL = 100_000.0
"""Interruptions per second that have the colour of all time."""
UNKNOWN = -1
"""Shade where nothing is known."""
Shades = tuple[int, ...]
"""Of a cell: one, or that of its upper and of its lower half."""
_CURSOR = Style(color="#000000", bgcolor="#ffffff", bold=True)


def shares_shades(column: NoiseColumn | None, cpus: Sequence[int]) -> Shades:
    """Of one or two CPUs: the share of the time that noise took."""
    return tuple(
        shade_of(column.cells[cpu].share) if column and cpu in column.cells else UNKNOWN
        for cpu in cpus
    )


def octave_shades(column: NoiseColumn | None, cpu: int) -> Shades:
    """Of one CPU by octave of the net time, shortest first: interruptions per second."""
    if column is None or cpu not in column.cells:
        return (UNKNOWN,) * OCTAVES
    per_s = _NS_PER_S / max(column.end_ns - column.start_ns, 1)
    counts = column.cells[cpu].counts.tolist()
    return tuple(shade_of(count * per_s / _PER_S_OF_ALL) for count in counts)


def octave_label(octave: int) -> str:
    """The shortest net time of an octave."""
    edge = format_ns(1 << (FIRST_OCTAVE + octave)) if octave else "0 ns"
    return f"≥{edge}" if octave else f"<{format_ns(1 << (FIRST_OCTAVE + 1))}"


def _segment(shades: Shades, length: int) -> Segment:
    return _drawn(shades, length, palette())


@cache
def _drawn(shades: Shades, length: int, _colours: Palette) -> Segment:
    upper = shades[0]
    if set(shades) == {UNKNOWN}:
        return Segment(" " * length, Style())
    if len(shades) == 1:
        colour = shade_colour(upper)
        style = Style(color=text_on(colour), bgcolor=colour)
        return Segment(shade_mark(upper) * length, style)
    colours = ["#000000" if one == UNKNOWN else shade_colour(one) for one in shades[:2]]
    return Segment("▀" * length, Style(color=colours[0], bgcolor=colours[1]))


def segments(cells: Sequence[Shades], width: int, cursor: int | None) -> list[Segment]:
    """A line of cells of ``width`` each; the one with the cursor is set off."""
    found: list[Segment] = []
    at = 0
    for shades, same in groupby(cells):
        count = sum(1 for _ in same)
        if cursor is not None and at <= cursor < at + count:
            before, after = cursor - at, at + count - cursor - 1
            mark = "◆" if shades[0] == UNKNOWN else shade_mark(shades[0]).replace(" ", "◆")
            found += [_segment(shades, before * width)] if before else []
            found.append(Segment(mark * width, _CURSOR))
            found += [_segment(shades, after * width)] if after else []
        else:
            found.append(_segment(shades, count * width))
        at += count
    return found
