"""Lines of text that differ in their numbers only, a whole table at a time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from noisetop.exporters._digits import Rows, width_of, write_integers, write_thousandths


@dataclass(frozen=True, slots=True)
class NumberColumn:
    """Numbers of a line, one for each; ``thousandths``: shown divided by 1000."""

    name: str
    numbers: npt.NDArray[np.unsignedinteger]
    thousandths: bool = False


@dataclass(slots=True)
class NumberRows:
    """Writes JSON members whose values are numbers in columns."""

    _widths: dict[str, int] = field(default_factory=dict)

    def rows(self, *parts: bytes | NumberColumn) -> Rows:
        """The parts of each line one after another; between two columns stands a comma."""
        columns = [part for part in parts if isinstance(part, NumberColumn)]
        template = self._template(parts)
        rows = np.empty((len(columns[0].numbers), len(template)), np.uint8)
        rows[:] = np.frombuffer(template, np.uint8)
        offset = 0
        for column in columns:
            name = b'"%s":' % column.name.encode()
            offset = template.index(name, offset) + len(name)
            put = write_thousandths if column.thousandths else write_integers
            put(rows, offset, self._width(column), column.numbers)
        return rows

    def lines(self, *parts: bytes | NumberColumn) -> list[bytes]:
        """The same, each line on its own."""
        rows = self.rows(*parts)
        lines: list[bytes] = rows.view(f"S{rows.shape[1]}")[:, 0].tolist()
        return lines

    def _template(self, parts: Iterable[bytes | NumberColumn]) -> bytes:
        """The text around the numbers, with room for them."""
        text, column_before = b"", False
        for part in parts:
            if isinstance(part, NumberColumn):
                room = b" " * (self._width(part) + 4 * part.thousandths)
                text += b"," * column_before + b'"%s":%s' % (part.name.encode(), room)
            else:
                text += part
            column_before = isinstance(part, NumberColumn)
        return text

    def _width(self, column: NumberColumn) -> int:
        """Columns only ever get wider, so that a file has few different layouts."""
        largest = int(column.numbers.max()) // (1000 if column.thousandths else 1)
        width = max(width_of(largest), self._widths.get(column.name, 0))
        self._widths[column.name] = width
        return width
