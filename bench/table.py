"""Markdown tables, and their place in docs/performance.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.estimate import Estimate
from noisetop.errors import NoisetopError


@dataclass(frozen=True, slots=True)
class Table:
    """A titled table; the first column is text, the rest are figures."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    def markdown(self) -> str:
        """As Markdown, every line ended."""
        alignment = ["---"] + ["---:"] * (len(self.columns) - 1)
        lines = [f"### {self.title}", ""]
        if self.note:
            lines += [self.note, ""]
        for row in (self.columns, alignment, *self.rows):
            lines.append("| " + " | ".join(row) + " |")
        return "\n".join([*lines, ""])


def with_interval(estimate: Estimate, scale: float = 1.0, digits: int = 2, unit: str = "") -> str:
    """``0.61 (0.55 to 0.70) µs``."""
    value, low, high = (
        f"{part / scale:.{digits}f}" for part in (estimate.value, estimate.low, estimate.high)
    )
    return f"{value} ({low} to {high}){' ' + unit if unit else ''}"


def markers_of(part: str) -> tuple[str, str]:
    """The lines of a document between which the tables of a part are."""
    return f"<!-- bench: {part} -->", f"<!-- bench: end of {part} -->"


def replace_part(text: str, part: str, insert: str) -> str:
    """The text with the tables of a part replaced. Raises NoisetopError without its markers."""
    first, last = markers_of(part)
    before, begin, rest = text.partition(first)
    _, end, after = rest.partition(last)
    if not begin or not end:
        raise NoisetopError(f"no place for the tables: put the lines {first} and {last} there")
    return f"{before}{first}\n\n{insert.strip()}\n\n{last}{after}"


def update_document(path: Path, inserts: Mapping[str, str]) -> None:
    """Puts the tables of some parts into a document."""
    text = path.read_text()
    for part, insert in inserts.items():
        text = replace_part(text, part, insert)
    path.write_text(text)
