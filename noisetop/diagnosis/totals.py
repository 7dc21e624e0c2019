"""Sums over interruptions by CPU, source, what ran inside and who caused it; pure numpy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from noisetop.event import Interruptions
from noisetop.interner import Interner

Index = npt.NDArray[np.int64]


class GroupKey(NamedTuple):
    """What the interruptions of a group share; numbers of sources and triggers, ``ran`` or -1."""

    cpu: int
    source: int
    ran: int
    trigger: int


@dataclass(frozen=True, slots=True)
class GroupTotals:
    """Figures of a group."""

    count: int
    net_ns: int
    max_ns: int
    max_start_ns: int
    blocks_ns: tuple[int, ...]


_COUNT, _NET, _MAX, _MAX_START = range(4)


@dataclass(slots=True)
class Totals:
    """Takes tables in any number of pieces; the order of these does not matter."""

    blocks: int
    """How many blocks of time are kept apart for each group; 0: none."""
    _keys: list[GroupKey] = field(default_factory=list)
    _sums: Index = field(default_factory=lambda: np.zeros((4, 0), np.int64))
    _blocks_ns: Index = field(init=False)
    _interner: Interner = field(init=False)
    _batch: tuple[Interruptions, Index] = field(init=False)

    def __post_init__(self) -> None:
        self._blocks_ns = np.zeros((0, self.blocks), np.int64)
        self._interner = Interner(self._learn)

    def _learn(self, row: int) -> int:
        table, ran = self._batch
        one = table[row]
        key = GroupKey(int(one["cpu"]), int(one["source"]), int(ran[row]), int(one["trigger"]))
        self._keys.append(key)
        return len(self._keys) - 1

    def add(self, table: Interruptions, ran: Index, block: Index) -> None:
        """Adds interruptions, at least one; ``ran``: the source inside each, -1 for nothing, and
        ``block`` where it began."""
        self._batch = table, ran
        where = table["source"].astype(np.uint64) << np.uint64(16) | table["cpu"]
        what = table["trigger"].astype(np.uint64) << np.uint64(32) | (ran + 1).astype(np.uint64)
        groups = self._interner.numbers([where, what])
        self._grow()
        # Only groups that occur, so that the cost follows the events and not the groups.
        present = np.flatnonzero(np.bincount(groups))
        place_of = np.empty(len(self._keys), np.int64)
        place_of[present] = np.arange(len(present))
        place = place_of[groups]
        net = table["net_ns"].astype(np.int64)
        self._sums[_COUNT, present] += np.bincount(place)
        # Sums of a batch stay below 2^53 ns, where a double is exact.
        self._sums[_NET, present] += np.bincount(place, net).astype(np.int64)
        self._add_largest(present, place, net, table["start_ns"].astype(np.int64))
        if self.blocks:
            cells = np.bincount(place * self.blocks + block, net, len(present) * self.blocks)
            self._blocks_ns[present] += cells.astype(np.int64).reshape(-1, self.blocks)

    def _grow(self) -> None:
        more = len(self._keys) - self._sums.shape[1]
        if more > 0:
            fresh = np.zeros((4, more), np.int64)
            fresh[_MAX] = -1
            self._sums = np.concatenate([self._sums, fresh], axis=1)
            cells = np.zeros((more, self.blocks), np.int64)
            self._blocks_ns = np.concatenate([self._blocks_ns, cells])

    def _add_largest(self, present: Index, place: Index, net: Index, start: Index) -> None:
        """Of equally large ones the earliest."""
        largest = np.full(len(present), -1, np.int64)
        np.maximum.at(largest, place, net)
        winners = np.flatnonzero(net == largest[place])
        first = np.full(len(present), np.iinfo(np.int64).max)
        np.minimum.at(first, place[winners], start[winners])
        known, since = self._sums[_MAX, present], self._sums[_MAX_START, present]
        better = (largest > known) | ((largest == known) & (first < since))
        self._sums[_MAX, present[better]] = largest[better]
        self._sums[_MAX_START, present[better]] = first[better]

    def groups(self) -> Iterator[tuple[GroupKey, GroupTotals]]:
        """All that was added so far."""
        sums, blocks = self._sums.T.tolist(), self._blocks_ns.tolist()
        for key, (count, net, largest, since), cells in zip(self._keys, sums, blocks, strict=True):
            yield key, GroupTotals(count, net, largest, since, tuple(cells))
