"""A figure in a table: its title, unit, width, format and order, declared once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from rich.cells import cell_len

from noisetop.text.units import format_count, format_ns

Value = int | float | str | None
"""None: there is nothing to tell, because it did not occur."""

NOTHING = "-"
EXACT_DIGITS = 7
"""Of counts that are shown in full."""

_NS_PER_S = 1_000_000_000

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    """One figure."""

    name: str
    """In files: what it is, with its unit."""
    title: str
    unit: str
    width: int
    """Cells that its text never needs more of, but for figures beyond any sane run."""
    value: Callable[[Row], Value]
    show: Callable[[Value], str]
    help: str
    left: bool = False
    """Aligned to the left and sorted ascending: names. Figures: to the right, largest first."""
    sortable: bool = True

    def text(self, row: Row) -> str:
        """The figure as people are shown it, not padded."""
        value = self.value(row)
        return NOTHING if value is None else self.show(value)

    def cell(self, row: Row) -> str:
        """The figure, padded to the width."""
        return self.pad(self.text(row))

    def pad(self, text: str) -> str:
        """Pads to the width; longer text is left whole, so that no figure is cut into another."""
        room = " " * (self.width - cells(text))
        return text + room if self.left else room + text

    def order(self, rows: Iterable[Row], *, reverse: bool = False) -> list[Row]:
        """The rows sorted by it; those that have nothing to tell come last either way."""
        known: list[tuple[Value, Row]] = []
        nothing: list[Row] = []
        for row in rows:
            value = self.value(row)
            if value is None:
                nothing.append(row)
            else:
                known.append((value, row))
        known.sort(key=lambda pair: pair[0], reverse=self.left is reverse)  # type: ignore[arg-type, return-value]
        return [row for _, row in known] + nothing


def cells(text: str) -> int:
    """How many cells a terminal needs for printable text. Most is ASCII, and that is quick."""
    return len(text) if text.isascii() else cell_len(text)


def shorten_end(text: str, width: int) -> str:
    """Text in at most ``width`` cells, … in place of what is cut off."""
    if cells(text) <= width:
        return text
    while cells(text) >= width:
        text = text[:-1]
    return f"{text}…"


def aligned(columns: Sequence[Column[Row]], rows: Iterable[Row]) -> Iterator[str]:
    """A line of titles, then one for each row."""
    yield " ".join(column.pad(column.title) for column in columns).rstrip()
    for row in rows:
        yield " ".join(column.cell(row) for column in columns).rstrip()


def per_second(amount: float, duration_ns: int) -> float:
    """A rate; 0 where there is no time."""
    return amount * _NS_PER_S / duration_ns if duration_ns > 0 else 0.0


def percent(part: float, whole: float) -> float:
    """A share in percent; 0 of nothing."""
    return 100 * part / whole if whole > 0 else 0.0


def number(value: Value) -> float:
    """A value that is one."""
    assert isinstance(value, int | float)
    return value


def show_ns(value: Value) -> str:
    """Time, scaled."""
    return format_ns(number(value))


def show_count(value: Value) -> str:
    """Exact as long as it fits."""
    text = str(value)
    return text if len(text) <= EXACT_DIGITS else format_count(number(value))


def show_rate(value: Value) -> str:
    """Events per second, scaled."""
    return format_count(number(value))


def show_moment(value: Value) -> str:
    """Seconds after the start of the period."""
    return f"{number(value) / _NS_PER_S:.3f} s"
