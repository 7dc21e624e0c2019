"""Small numbers for things that are described by several columns of integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from noisetop._tables import Groups

Column = npt.NDArray[np.integer[Any]]
Numbers = npt.NDArray[np.uint32]


@dataclass(slots=True)
class DictionaryEncoder:
    """Remembers each combination of ``width`` columns under the number that it was given."""

    width: int
    _groups: Groups = field(init=False)
    _numbers: Numbers = field(default_factory=lambda: np.empty(0, np.uint32))

    def __post_init__(self) -> None:
        self._groups = Groups(self.width)

    def __len__(self) -> int:
        """Combinations met so far."""
        return len(self._numbers)

    def numbers(self, columns: Sequence[Column], learn: Callable[[int], int]) -> Numbers:
        """The number of each row; all columns are equally long. ``learn`` is called with the row
        of each combination that is new and gives its number."""
        groups = np.empty(len(columns[0]), np.uint32)
        fresh = [learn(row) for row in self._groups.numbers(columns, groups)]
        if fresh:
            self._numbers = np.concatenate([self._numbers, np.array(fresh, np.uint32)])
        return self._numbers.take(groups)
