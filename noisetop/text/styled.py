"""Lines of text that know which of their characters a terminal may emphasise.

A styled line is a ``str`` and equals its plain text: whoever writes it to a file or splits it sees
no difference. Only ``terminal_output`` looks at the styles. Texts made from it have none.
"""

from __future__ import annotations

from typing import NamedTuple

HEADING = "bold"
DETAIL = "dim"
BAD = "red"
DOUBTFUL = "yellow"
GOOD = "green"


class Span(NamedTuple):
    """Characters ``start`` to ``end`` (exclusive) of a line, and one of the styles above."""

    start: int
    end: int
    style: str


class StyledLine(str):
    """A line with styles; ``spans`` are in order and do not overlap."""

    __slots__ = ("spans",)
    spans: tuple[Span, ...]


def spans_of(line: str) -> tuple[Span, ...]:
    """The styles of a line; none for a plain one."""
    return line.spans if isinstance(line, StyledLine) else ()


def styled(text: str, style: str, start: int = 0, end: int | None = None) -> StyledLine:
    """The line with a style from ``start`` to ``end``, otherwise to its end."""
    line = StyledLine(text)
    line.spans = (Span(start, len(text) if end is None else end, style),)
    return line


def heading(text: str) -> StyledLine:
    """The line as a heading."""
    return styled(text, HEADING)
