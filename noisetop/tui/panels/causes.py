"""The most expensive causes and their remedies, by the rules of ``noisetop diagnose``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import Binding, BindingType

from noisetop.diagnosis import Diagnosis
from noisetop.diagnosis.brief import finding_lines
from noisetop.diagnosis.details import wrapped
from noisetop.diagnosis.finding import Finding
from noisetop.text.units import format_ns
from noisetop.tui.causes_panel import MARGIN, CausesPanel
from noisetop.tui.keys import Key
from noisetop.tui.panels.cause import CauseRow

_TOP = 20
_STACKS = 3


class Causes(CausesPanel):
    """A list of them, with a cursor."""

    TITLE = "Causes of noise"
    ORDER = 5
    KEYS = (Key("d", "causes of noise and their remedies", "d", hint="d causes"),)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)", "down", show=False),
        Binding("up,k", "move(-1)", "up", show=False),
    ]
    step = "causes"

    def __init__(self) -> None:
        super().__init__()
        self.at = 0
        """Number of the cause with the cursor."""

    def lines(self, taken: Diagnosis | None) -> Iterable[str]:
        """Part of TextPanel."""
        self.diagnosis = taken
        if taken is None:
            yield "collecting data"
            return
        span = format_ns(taken.evidence.duration_ns)
        if self.dashboard.player is None:
            self.heading = f"Causes over {span}: Enter shows one"
        else:
            self.heading = f"Causes in this part ({span}): Enter shows one"
        width = min(self.app.size.width, self.WIDTH) - MARGIN
        yield from self._list(taken, width)
        yield from _stack_lines(taken, width)

    def _list(self, diagnosis: Diagnosis, width: int) -> Iterable[str]:
        findings = diagnosis.findings[:_TOP]
        for number, finding in enumerate(findings):
            first, *more = finding_lines(finding, diagnosis, width)
            yield f"{'▶' if number == self.at else ' '} {first}"
            yield from (f"  {line}" for line in more)
        if len(diagnosis.findings) > _TOP:
            yield f"  and {len(diagnosis.findings) - _TOP} more: noisetop diagnose lists them"
        if not findings:
            yield "no noise measured"

    def selected(self) -> Finding | None:
        """Part of CausesPanel."""
        findings = self.diagnosis.findings[:_TOP] if self.diagnosis else ()
        return findings[self.at] if self.at < len(findings) else None

    def action_move(self, by: int) -> None:
        """Another cause."""
        count = len(self.diagnosis.findings[:_TOP]) if self.diagnosis else 0
        self.at = max(0, min(self.at + by, count - 1))
        self.draw(self.diagnosis)
        if count:
            self.scroll_to(y=self.at * self.virtual_size.height // count, animate=False)

    def choose(self) -> bool:
        """Part of Panel: Enter shows one at length, above the list."""
        if finding := self.selected():
            self.dashboard.open_row(CauseRow(finding.key))
        return False


def _stack_lines(diagnosis: Diagnosis, width: int) -> Iterable[str]:
    """Where in their programs the first causes come from, with --stacks."""
    for finding in diagnosis.findings[:_STACKS]:
        if functions := finding.user_stack:
            who = finding.senders()[0].trigger.label if finding.senders() else finding.cause
            yield ""
            yield from wrapped(f"{who}: {' ← '.join(functions)}", width)


PANELS = (Causes,)
