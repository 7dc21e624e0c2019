"""Markdown tables, and their place in docs/performance.md."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench.estimate import Estimate
from noisetop.errors import NoisetopError

BEGIN = "<!-- bench: begin -->"
END = "<!-- bench: end -->"


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


def replace_between_markers(text: str, insert: str) -> str:
    """The text with what is between the markers replaced. Raises NoisetopError without markers."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise NoisetopError(f"no place for the tables: put the lines {BEGIN} and {END} there")
    return f"{before}{BEGIN}\n\n{insert.strip()}\n\n{END}{after}"


def update_document(path: Path, insert: str) -> None:
    """Puts the tables into a document."""
    path.write_text(replace_between_markers(path.read_text(), insert))
