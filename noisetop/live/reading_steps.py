"""When to read within an interval: much is read in pieces that the caches hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

_ROWS = 16_384
"""Of a piece, about. Arrays of so many come from the heap and stay in the caches; of a whole second
of 160,000 records a third of the CPU time was for fresh pages."""
_SHORTEST_NS = 50_000_000
_LONGEST_NS = 1_000_000_000
"""Records that wait to be read take memory, of which there is a bound."""


@dataclass(slots=True)
class ReadingSteps:
    """Goes by how much came lately."""

    _step_ns: int = _LONGEST_NS

    def moments(self, start_ns: int, end_ns: int) -> Iterator[int]:
        """When to read before the interval from ``start_ns`` to ``end_ns`` is over: each time in
        ns, looked up after took() was told of the one before."""
        moment_ns = start_ns + self._step_ns
        while moment_ns + self._step_ns // 2 < end_ns:
            yield moment_ns
            moment_ns += self._step_ns

    def took(self, rows: int, in_ns: int) -> None:
        """So many interruptions had ended since the reading before, ``in_ns`` earlier."""
        step_ns = in_ns * _ROWS // max(rows, 1)
        self._step_ns = min(max(step_ns, _SHORTEST_NS), _LONGEST_NS)
