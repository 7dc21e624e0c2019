"""The noise of each CPU over time, in bounded memory: a column for each period, a cell per CPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from noisetop.summary.summary import CpuSummary, SourceSummary, Summary

KEPT = 3_600
"""Columns that are kept: an hour of seconds."""


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
    external = cpu.external
    net_ns = sum(one.net_ns for one in external)
    largest = max(external, key=lambda one: one.rank_ns, default=None)
    about = cpu.max_single_ns, cpu.max_single_start_ns
    if largest is None or not largest.count:
        return Cell(net_ns / duration_ns, net_ns, *about)
    by = _by(largest)
    return Cell(net_ns / duration_ns, net_ns, *about, largest.source.path, largest.net_ns, by)


def _by(source: SourceSummary) -> str:
    return source.triggers[0].trigger.label if source.triggers else ""


@dataclass(slots=True)
class NoiseColumns:
    """By number: of a recording that of the period, live that of the sample. The oldest go."""

    kept: int = KEPT
    _columns: dict[int, NoiseColumn] = field(default_factory=dict)
    newest: int = -1
    """Largest number so far."""

    def put(self, number: int, column: NoiseColumn) -> None:
        """A further column."""
        self._columns[number] = column
        self.newest = max(self.newest, number)
        while len(self._columns) > self.kept:
            del self._columns[min(self._columns)]

    def append(self, column: NoiseColumn) -> None:
        """The column after the newest one."""
        self.put(self.newest + 1, column)

    def get(self, number: int) -> NoiseColumn | None:
        """None: not known, or gone."""
        return self._columns.get(number)

    def clear(self) -> None:
        """Forgets all; numbers go on."""
        self._columns.clear()

    @property
    def first(self) -> int:
        """Smallest number that is kept."""
        return min(self._columns, default=self.newest + 1)
