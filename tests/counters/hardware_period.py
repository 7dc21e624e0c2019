"""A period between readings of the hardware counters."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

from noisetop.counters.hardware_figures import HardwareFigure
from noisetop.counters.hardware_totals import (
    HardwareTotals,
    HardwareWatch,
    difference,
    figures_of,
    unavailable_of,
)
from noisetop.machine.system import ROOT


class HardwarePeriod:
    """Opens a watch on entry and reads what its period begins with."""

    def __init__(
        self, cpus: tuple[int, ...], housekeeping: tuple[int, ...], root: Path = ROOT
    ) -> None:
        self.watch = HardwareWatch(cpus, housekeeping, root)
        self.before: HardwareTotals = {}

    def __enter__(self) -> Self:
        self.watch.open()
        self.begin()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.watch.close()

    def begin(self) -> None:
        """Figures count from here."""
        self.before = self.watch.read()

    def figures(self) -> tuple[HardwareFigure, ...]:
        """What was added up to now."""
        return figures_of(difference(self.before, self.watch.read()))

    def missing(self) -> tuple[str, ...]:
        """What cannot be told now."""
        return unavailable_of(difference(self.before, self.watch.read()))
