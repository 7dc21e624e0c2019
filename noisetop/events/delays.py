"""What ran lately, for those that waited for a CPU meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from noisetop._tables import flatten
from noisetop.events.interruption import INTERRUPTION, SIDE_LEVEL, Interruptions
from noisetop.tables.intervals import Moments, Spans
from noisetop.tables.rows import joined, select
from noisetop.tables.small_numbers import occurring

KEPT_NS = 10_000_000_000
"""How far back a wait finds what ran; what took the time of one that began earlier is not known."""
_KEPT_ROWS = 1 << 20
_FIELDS = ("start_ns", "gross_ns", "source", "tid", "victim_tid", "level", "origin")
_RAN = np.dtype([(name, INTERRUPTION[name]) for name in _FIELDS], align=True)
"""What is kept of an interruption."""
_LEVEL_BITS = np.uint64(4)
"""A start with its level below it still fits in 64 bits for 36 years after boot."""


def _kept(table: Interruptions) -> npt.NDArray[np.void]:
    rows = np.empty(len(table), _RAN)
    for name in _FIELDS:
        rows[name] = table[name]
    return rows


@dataclass(frozen=True, slots=True)
class Ran:
    """What ran on one CPU in some stretches of time."""

    kinds: list[Any]
    """What can have taken it, as the caller told of each interruption."""
    columns: tuple[Moments, Moments, Moments]
    """Start, end and place in ``kinds`` of each stretch in which one of them was the innermost, in
    their order."""
    table: npt.NDArray[np.void]
    """The interruptions, in the order of their start, without some of their fields."""

    def gaps(self, start_ns: int, end_ns: int) -> Moments:
        """Shape (gaps, 2): start and end of each stretch in which nothing is known to have run; one
        that reaches between the stretches of time may be longer than it was."""
        starts, ends, _ = self.columns
        begins = np.concatenate([np.array([start_ns], np.uint64), ends])
        until = np.concatenate([starts, np.array([end_ns], np.uint64)])
        some = until > begins
        return np.stack([begins[some], until[some]], axis=1)


@dataclass(slots=True)
class _Piece:
    """Interruptions that came together, at least one."""

    rows: npt.NDArray[np.void]
    ends: npt.NDArray[np.uint64] = field(init=False)
    first_ns: int = field(init=False)
    """When the first of them began."""
    last_ns: int = field(init=False)
    """When the last of them ended."""

    def __post_init__(self) -> None:
        self.ends = self.rows["start_ns"] + self.rows["gross_ns"]
        self.first_ns, self.last_ns = int(self.rows["start_ns"].min()), int(self.ends.max())

    def during(self, spans: Spans) -> npt.NDArray[np.void]:
        """Those that have a part in one of them."""
        return select(self.rows, spans.meet(self.rows["start_ns"], self.ends))


@dataclass(slots=True)
class _Lately:
    """What ran on one CPU lately."""

    pieces: list[_Piece] = field(default_factory=list)
    rows: int = 0

    def add(self, table: Interruptions) -> None:
        self.pieces.append(_Piece(_kept(table)))
        self.rows += len(table)
        while len(self.pieces) > 1 and self.rows > _KEPT_ROWS:
            self.rows -= len(self.pieces.pop(0).rows)

    def forget(self, before_ns: int) -> None:
        while len(self.pieces) > 1 and self.pieces[0].last_ns < before_ns:
            self.rows -= len(self.pieces.pop(0).rows)

    def during(self, spans: Spans) -> npt.NDArray[np.void]:
        """What has a part in one of them, in the order of its start, the outer one first."""
        found = [
            piece.during(spans)
            for piece in self.pieces
            if piece.last_ns > spans.first_ns and piece.first_ns < spans.last_ns
        ]
        rows = joined([np.empty(0, _RAN), *found])
        order = rows["start_ns"] << _LEVEL_BITS | rows["level"]
        return select(rows, np.argsort(order, kind="stable"))


@dataclass(slots=True)
class DelayFinder:
    """Remembers what ran."""

    _by_cpu: dict[int, _Lately] = field(default_factory=dict)

    def add(self, table: Interruptions) -> None:
        """Takes interruptions, those on an idle CPU included."""
        running = select(table, table["level"] != SIDE_LEVEL)
        for cpu in occurring(running["cpu"]):
            self._by_cpu.setdefault(cpu, _Lately()).add(select(running, running["cpu"] == cpu))

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
            {cpu: _Lately(list(ran.pieces), ran.rows) for cpu, ran in self._by_cpu.items()}
        )
        other.add(table)
        return other

    def forget(self, now_ns: int) -> None:
        """What lies too far back."""
        for ran in self._by_cpu.values():
            ran.forget(now_ns - KEPT_NS)

    def during(
        self,
        cpu: int,
        spans: Spans,
        kinds_of: Callable[[npt.NDArray[np.void]], tuple[list[Any], Moments]],
    ) -> Ran:
        """What ran on a CPU in some stretches of time; between them only what reaches into one.
        ``kinds_of`` tells of a table what counts as one, and which of these each row is."""
        table = self._by_cpu.get(cpu, _Lately()).during(spans)
        kinds, of_row = kinds_of(table)
        segments = np.empty((2 * len(table) + 1, 3), np.uint64)
        count = flatten((table["start_ns"], table["start_ns"] + table["gross_ns"]), segments)
        starts, ends, rows = segments[:count].T
        return Ran(kinds, (starts, ends, of_row.take(rows.astype(np.int64))), table)
