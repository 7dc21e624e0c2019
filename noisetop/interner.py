"""Small numbers for things that are described by several columns of integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Column = npt.NDArray[np.uint64]
_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(slots=True)
class Interner:
    """Remembers each combination of columns under the number that ``learn`` gives it.

    Combinations are told apart by a 64-bit hash: two share one with a chance of 2^-64 per pair.
    """

    learn: Callable[[int], int]
    """Called with the row of a combination that is new; its number."""
    _known: Column = field(default_factory=lambda: np.empty(0, np.uint64))
    _numbers: npt.NDArray[np.uint32] = field(default_factory=lambda: np.empty(0, np.uint32))

    def numbers(self, columns: Sequence[Column]) -> npt.NDArray[np.uint32]:
        """The number of each row; all columns are equally long and not empty."""
        keys = columns[0]
        for column in columns[1:]:
            keys = _mix(keys) ^ column
        keys = _mix(keys)
        place = self._places(keys)
        new = np.ones(len(keys), bool) if not len(self._known) else self._known[place] != keys
        if new.any():
            rows = np.flatnonzero(new)
            fresh, first = np.unique(keys[rows], return_index=True)
            self._insert(fresh, [self.learn(int(rows[i])) for i in first])
            place = self._places(keys)
        return self._numbers[place]

    def _places(self, keys: Column) -> npt.NDArray[np.intp]:
        place = np.searchsorted(self._known, keys)
        place[place == len(self._known)] = 0
        return place

    def _insert(self, fresh: Column, numbers: list[int]) -> None:
        known = np.concatenate([self._known, fresh])
        all_numbers = np.concatenate([self._numbers, np.array(numbers, np.uint32)])
        order = np.argsort(known)
        self._known, self._numbers = known[order], all_numbers[order]


def _mix(key: Column) -> Column:
    """Finalizer of a 64-bit hash: every input bit reaches every output bit."""
    key = (key ^ (key >> np.uint64(32))) * _MIX
    key = (key ^ (key >> np.uint64(29))) * _MIX
    return key ^ (key >> np.uint64(32))
