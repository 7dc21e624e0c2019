"""Text that fits a terminal: its width, tables with columns as wide as their cells, bar charts."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from collections.abc import Collection, Iterable, Iterator, Sequence

ANY_WIDTH = 1 << 16
"""Width for output that is read by a program or written to a file: no line is broken."""

_SEPARATOR = "  "
_GLUE = "\xa0"
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:[nµm]?s|%)(?!\w))")
"""Space between a number and its unit: no line is broken there."""


def output_width() -> int:
    """Width of the terminal that stdout is, in cells; ANY_WIDTH where stdout is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else ANY_WIDTH


def table_lines(rows: Sequence[Sequence[str]], left: Collection[int] = ()) -> list[str]:
    """One line for each row; every column is as wide as its widest cell.

    All rows have the same number of cells. Columns whose index is in ``left`` are aligned to the
    left, all others to the right. Nothing is cut, so that columns never touch.
    """
    widths = [max(map(len, column), default=0) for column in zip(*rows, strict=True)]
    return [
        _SEPARATOR.join(
            cell.ljust(width) if at in left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def fit(lines: Iterable[str], width: int, indent: int | None = None) -> Iterator[str]:
    """The lines, those longer than ``width`` cells wrapped.

    What is wrapped is indented by ``indent`` cells; None: by four more than its line.
    """
    for line in lines:
        if len(line) <= width:
            yield line
            continue
        own = len(line) - len(line.lstrip()) + 4
        below = " " * (own if indent is None else indent)
        glued = _BEFORE_UNIT.sub(_GLUE, line)
        for part in textwrap.wrap(glued, width, subsequent_indent=below, break_on_hyphens=False):
            yield part.replace(_GLUE, " ")


def fold_empty_rows(rows: Iterable[tuple[bool, str]], indent: str = "") -> Iterator[str]:
    """The lines of a bar chart, given as (empty, line); a run of empty rows becomes one line."""
    empty: list[str] = []
    for is_empty, line in rows:
        if is_empty:
            empty.append(line)
            continue
        yield from _folded(empty, indent)
        empty = []
        yield line
    yield from _folded(empty, indent)


def _folded(empty: Sequence[str], indent: str) -> Iterator[str]:
    if len(empty) > 1:
        yield f"{indent}({len(empty)} empty rows)"
    else:
        yield from empty
