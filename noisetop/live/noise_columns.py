"""The noise of each CPU over time, in bounded memory: a column for each period, a cell per CPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from noisetop.summary.summary import CpuSummary, SourceSummary, Summary
from noisetop.tables.histogram import Counts

KEPT = 3_600
"""Columns that are kept at most: an hour of seconds."""
_CELLS = 200_000
"""Cells that are kept: of 128 CPUs some 26 minutes of seconds."""
FIRST_OCTAVE, OCTAVES = 7, 24
"""Net times of interruptions by powers of two: the first counts all below 256 ns, the last all from
1.07 s on."""
_STEPS = 16
"""Buckets of a histogram in an octave."""
_SKIPPED = FIRST_OCTAVE - 3
"""Octaves of a histogram below the first."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One CPU in one period. Times in ns."""

    share: float
    """Of the period that external noise took."""
    net_ns: int
    max_single_ns: int
    max_single_start_ns: int
    path: tuple[str, ...] = ()
    """The largest external source; empty: there was none."""
    path_ns: int = 0
    by: str = ""
    """Who caused most of that, untrusted; empty: not known."""
    packed_counts: bytes = b""
    """See ``counts``."""

    @property
    def counts(self) -> Counts:
        """External interruptions by octave of their net time, OCTAVES of them."""
        if not self.packed_counts:
            return np.zeros(OCTAVES, np.int64)
        return np.frombuffer(self.packed_counts, np.uint32).astype(np.int64)


@dataclass(frozen=True, slots=True)
class NoiseColumn:
    """A period (CLOCK_MONOTONIC)."""

    start_ns: int
    end_ns: int
    cells: Mapping[int, Cell]

    @property
    def worst(self) -> float:
        """Largest share of any CPU."""
        return max((cell.share for cell in self.cells.values()), default=0.0)


def noise_column(summary: Summary) -> NoiseColumn:
    """The column of a period."""
    cells = {
        one.cpu: _cell(one, max(summary.duration_ns, 1))
        for one in summary.cpus
        if one.cpu is not None
    }
    return NoiseColumn(summary.start_ns, summary.end_ns, cells)


def _cell(cpu: CpuSummary, duration_ns: int) -> Cell:
    external = cpu.external  # largest first
    net_ns = sum(one.net_ns for one in external)
    largest = external[0] if external else None
    about = cpu.max_single_ns, cpu.max_single_start_ns
    if largest is None or not largest.count:
        return Cell(net_ns / duration_ns, net_ns, *about)
    path, by = largest.source.path, _by(largest)
    counts = _octaves(external)
    return Cell(net_ns / duration_ns, net_ns, *about, path, largest.net_ns, by, counts)


def _octaves(sources: Sequence[SourceSummary]) -> bytes:
    every = np.add.reduce([one.histogram for one in sources])
    octaves = every.reshape(-1, _STEPS).sum(axis=1)
    counts = octaves[_SKIPPED : _SKIPPED + OCTAVES].copy()
    counts[0] += octaves[:_SKIPPED].sum()
    counts[-1] += octaves[_SKIPPED + OCTAVES :].sum()
    packed: bytes = counts.astype(np.uint32).tobytes()
    return packed


def _by(source: SourceSummary) -> str:
    return source.triggers[0].trigger.label if source.triggers else ""


@dataclass(slots=True)
class NoiseColumns:
    """By number: of a recording that of the period, live that of the sample. The oldest go."""

    kept: int = KEPT
    _columns: dict[int, NoiseColumn] = field(default_factory=dict)
    newest: int = -1
    """Largest number so far."""
    origin_ns: int = 0
    """When the first one began (CLOCK_MONOTONIC); 0: there was none."""

    def put(self, number: int, column: NoiseColumn) -> None:
        """A further column."""
        self.origin_ns = self.origin_ns or column.start_ns
        self._columns[number] = column
        self.newest = max(self.newest, number)
        cells = max(len(column.cells), 1)
        while len(self._columns) > min(self.kept, max(_CELLS // cells, 1)):
            del self._columns[self.first]

    def append(self, column: NoiseColumn) -> None:
        """The column after the newest one."""
        self.put(self.newest + 1, column)

    def get(self, number: int) -> NoiseColumn | None:
        """None: not known, or gone."""
        return self._columns.get(number)

    def number_of(self, end_ns: int) -> int | None:
        """That of the column in which something ended. None: it is gone."""
        for number in reversed(self._columns):
            column = self._columns[number]
            if column.start_ns < end_ns <= column.end_ns:
                return number
        return None

    def clear(self) -> None:
        """Forgets all; numbers go on."""
        self._columns.clear()

    @property
    def first(self) -> int:
        """Smallest number that is kept."""
        return next(iter(self._columns), self.newest + 1)  # they come in their order
