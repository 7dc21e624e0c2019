"""One cause at length: evidence, remedy, undo and effect, as ``noisetop diagnose`` has them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from noisetop.diagnosis import Diagnosis
from noisetop.diagnosis.details import details
from noisetop.diagnosis.finding import Finding
from noisetop.tui.causes_panel import MARGIN, CausesPanel
from noisetop.tui.drill_path import path_words
from noisetop.tui.keys import Key


@dataclass(frozen=True, slots=True)
class CauseRow:
    """A cause in whichever diagnosis is the newest."""

    key: str
    """Finding.key"""


class Cause(CausesPanel):
    """The newest diagnosis that has it; an older one stays while the newest has not."""

    TITLE = "Cause"
    ORDER = 6
    KEYS = (
        Key("Enter", "on a cause: evidence, remedy, undo and effect"),
        Key("y", "on a cause: copy the command of the remedy"),
    )
    OPENED_ON = CauseRow
    step = "remedy"

    def lines(self, taken: Diagnosis | None) -> Iterable[str]:
        """Part of TextPanel."""
        self.heading = path_words(self.dashboard)
        if taken is not None and self._number(taken) >= 0:
            self.diagnosis = taken
        found = self.diagnosis
        if found is None:
            return ["collecting data"]
        number = self._number(found)
        width = min(self.app.size.width, self.WIDTH) - MARGIN
        lines = map(str, details(number + 1, found.findings[number], found, (), width))
        return [*lines, "", "    y copies the command"]

    def selected(self) -> Finding | None:
        """Part of CausesPanel."""
        return self.diagnosis.findings[self._number(self.diagnosis)] if self.diagnosis else None

    def _number(self, diagnosis: Diagnosis) -> int:
        """Its place; -1: it is not among them."""
        keys = [one.key for one in diagnosis.findings]
        return keys.index(self.opened_on.key) if self.opened_on.key in keys else -1


PANELS = (Cause,)
