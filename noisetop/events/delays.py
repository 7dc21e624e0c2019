"""What ran while victims waited for a CPU: the time of each wait, by what took it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from noisetop._tables import flatten
from noisetop.events.interruption import INTERRUPTION, SIDE_LEVEL, Interruptions
from noisetop.tables.rows import joined, select

KEPT_NS = 10_000_000_000
"""How far back a wait finds what ran; what took the time of one that began earlier is not known."""
_KEPT_ROWS = 1 << 20

Times = npt.NDArray[np.int64]


class Delays(NamedTuple):
    """What took the time of some waits on one CPU."""

    kinds: list[Any]
    """What can have taken it, as the caller told of each interruption."""
    ns: Times
    """Shape (waits, kinds)."""
    gaps: Times
    """Shape (gaps, 2): start and end of each stretch in which nothing is known to have run."""


@dataclass(slots=True)
class _Piece:
    """Interruptions that came together, at least one."""

    rows: Interruptions
    ends: npt.NDArray[np.uint64] = field(init=False)
    first_ns: int = field(init=False)
    """When the first of them began."""
    last_ns: int = field(init=False)
    """When the last of them ended."""

    def __post_init__(self) -> None:
        self.ends = self.rows["start_ns"] + self.rows["gross_ns"]
        self.first_ns, self.last_ns = int(self.rows["start_ns"].min()), int(self.ends.max())

    def between(self, start_ns: int, end_ns: int) -> Interruptions:
        """Those that have a part in this time."""
        return select(self.rows, (self.ends > start_ns) & (self.rows["start_ns"] < end_ns))


@dataclass(slots=True)
class _Ran:
    """What ran on one CPU lately."""

    pieces: list[_Piece] = field(default_factory=list)
    rows: int = 0

    def add(self, table: Interruptions) -> None:
        self.pieces.append(_Piece(table))
        self.rows += len(table)
        while len(self.pieces) > 1 and self.rows > _KEPT_ROWS:
            self.rows -= len(self.pieces.pop(0).rows)

    def forget(self, before_ns: int) -> None:
        while len(self.pieces) > 1 and self.pieces[0].last_ns < before_ns:
            self.rows -= len(self.pieces.pop(0).rows)

    def between(self, start_ns: int, end_ns: int) -> Interruptions:
        """What has a part in this time, in the order of its start, the outer one first."""
        found = [
            piece.between(start_ns, end_ns)
            for piece in self.pieces
            if piece.last_ns > start_ns and piece.first_ns < end_ns
        ]
        rows = joined([np.empty(0, INTERRUPTION), *found])
        return select(rows, np.lexsort((rows["level"], rows["start_ns"])))


@dataclass(slots=True)
class DelayFinder:
    """Remembers what ran, and cuts waits into it."""

    _by_cpu: dict[int, _Ran] = field(default_factory=dict)

    def add(self, table: Interruptions) -> None:
        """Takes interruptions, those on an idle CPU included."""
        running = select(table, table["level"] != SIDE_LEVEL)
        for cpu in np.unique(running["cpu"]).tolist():
            self._by_cpu.setdefault(cpu, _Ran()).add(select(running, running["cpu"] == cpu))

    def renumber(self, numbers: npt.NDArray[np.uint32]) -> None:
        """Sources have other numbers from now on: at the place of the one that they had."""
        for ran in self._by_cpu.values():
            for piece in ran.pieces:
                piece.rows = piece.rows.copy()
                piece.rows["source"] = numbers.take(piece.rows["source"])

    def sources(self) -> set[int]:
        """Numbers of all that ran."""
        return {
            number
            for ran in self._by_cpu.values()
            for piece in ran.pieces
            for number in np.unique(piece.rows["source"]).tolist()
        }

    def with_rows(self, table: Interruptions) -> DelayFinder:
        """Another one that knows these as well."""
        other = DelayFinder(
            {cpu: _Ran(list(ran.pieces), ran.rows) for cpu, ran in self._by_cpu.items()}
        )
        other.add(table)
        return other

    def forget(self, now_ns: int) -> None:
        """What lies too far back."""
        for ran in self._by_cpu.values():
            ran.forget(now_ns - KEPT_NS)

    def delays(
        self, cpu: int, starts: Times, ends: Times, kind_of: Callable[[Interruptions], list[Any]]
    ) -> Delays:
        """Cuts waits on one CPU, given by start and end in ns. ``kind_of`` tells of each
        interruption, in a table, what counts as one; anything that can be a key."""
        ran = self._by_cpu.get(cpu, _Ran())
        table = ran.between(int(starts.min()), int(ends.max()))
        segments = _flat(table)
        numbers: dict[Hashable, int] = {}
        of_row = np.array(
            [numbers.setdefault(kind, len(numbers)) for kind in kind_of(table)], np.int64
        )
        number = of_row[segments[:, 2]]
        ns = np.empty((len(starts), len(numbers)), np.int64)
        for kind in range(len(numbers)):
            mine = segments[number == kind]
            ns[:, kind] = _passed(mine, ends) - _passed(mine, starts)
        return Delays(list(numbers), ns, _gaps(segments, int(starts.min()), int(ends.max())))


def _flat(table: Interruptions) -> Times:
    """Start, end and row of each stretch in which one row was the innermost."""
    out = np.empty((2 * len(table) + 1, 3), np.uint64)
    count = flatten((table["start_ns"], table["start_ns"] + table["gross_ns"]), out)
    return out[:count].astype(np.int64)


def _passed(segments: Times, moments: Times) -> Times:
    """Time of these segments up to each moment; they do not overlap and are in order."""
    sums = np.concatenate([[0], np.cumsum(segments[:, 1] - segments[:, 0])])
    begun = np.searchsorted(segments[:, 0], moments, "right")
    last_end = np.concatenate([[0], segments[:, 1]])[begun]
    return np.asarray(sums[begun] - np.maximum(last_end - moments, 0), np.int64)


def _gaps(segments: Times, start_ns: int, end_ns: int) -> Times:
    begins = np.concatenate([[start_ns], segments[:, 1]])
    ends = np.concatenate([segments[:, 0], [end_ns]])
    found = np.stack([begins, ends], axis=1)
    return np.asarray(found[ends > begins], np.int64)
