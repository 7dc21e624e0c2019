"""The most expensive causes and their remedies, by the rules of ``noisetop diagnose``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import Binding, BindingType

from noisetop.diagnosis import Diagnosis
from noisetop.diagnosis.brief import finding_lines
from noisetop.diagnosis.details import details, effect, wrapped
from noisetop.diagnosis.finding import Finding
from noisetop.text.sanitize import printable
from noisetop.text.units import format_ns
from noisetop.tui.keys import Key
from noisetop.tui.state import State
from noisetop.tui.text_panel import TextPanel

_TOP = 20
_STACKS = 3
_MARGIN = 6


class Causes(TextPanel[Diagnosis | None], can_focus=True):
    """The feed diagnoses only while it is open, because that costs CPU time."""

    TITLE = "Causes of noise"
    ORDER = 5
    KEYS = (
        Key("d", "causes of noise and their remedies, since it was opened", "d",
            hint="d causes"),
        Key("Enter", "in the causes: evidence, remedy, undo and effect of one, and back"),
        Key("y", "in the causes: copy the command of the remedy"),
    )  # fmt: skip
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)", "down", show=False),
        Binding("up,k", "move(-1)", "up", show=False),
        Binding("y", "copy", "copy", show=False),
    ]
    WIDTH = 120

    def __init__(self) -> None:
        super().__init__()
        self.at = 0
        """Number of the cause with the cursor."""
        self._detailed = False
        self._diagnosis: Diagnosis | None = None

    def on_mount(self) -> None:
        """Asks the feed for a diagnosis."""
        self.dashboard.feed.diagnose(wanted=True)
        self.focus()

    def on_unmount(self) -> None:
        """Part of Textual."""
        self.dashboard.feed.diagnose(wanted=False)

    def take(self, state: State) -> Diagnosis | None:
        """The newest diagnosis, also while the tables are paused."""
        return state.latest.diagnosis if state.latest else None

    def lines(self, taken: Diagnosis | None) -> Iterable[str]:
        """Part of TextPanel."""
        self._diagnosis = taken
        if taken is None:
            yield "collecting data"
            return
        span = format_ns(taken.evidence.duration_ns)
        if self.dashboard.player is None:
            self.heading = f"Causes since this view was opened ({span}), updated every 5 s"
        else:
            self.heading = f"Causes in this part ({span})"
        width = min(self.app.size.width, self.WIDTH) - _MARGIN
        if self._detailed and (one := self._selected()):
            yield from map(str, details(self.at + 1, one, taken, (), width))
            return
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

    def _selected(self) -> Finding | None:
        findings = self._diagnosis.findings[:_TOP] if self._diagnosis else ()
        return findings[self.at] if self.at < len(findings) else None

    def action_move(self, by: int) -> None:
        """Another cause."""
        count = len(self._diagnosis.findings[:_TOP]) if self._diagnosis else 0
        self.at = max(0, min(self.at + by, count - 1))
        self.draw(self._diagnosis)
        if not self._detailed and count:
            self.scroll_to(y=self.at * self.virtual_size.height // count, animate=False)

    def choose(self) -> bool:
        """Part of Panel: Enter shows one at length, or the list."""
        self._detailed = not self._detailed and self._selected() is not None
        self.draw(self._diagnosis)
        self.scroll_home(animate=False)
        return False

    def action_copy(self) -> None:
        """The command of the remedy to the clipboard of the terminal, with what it does."""
        finding = self._selected()
        if finding is None or self._diagnosis is None:
            return
        if not finding.shell:
            words = f"'{finding.remedy}' is no command for this machine as it stands"
            self.notify(printable(words), severity="warning", markup=False)
            return
        self.app.copy_to_clipboard(printable(finding.remedy))
        does = effect(finding, self._diagnosis)
        words = f"copied: {finding.remedy}. Effect: {does}. Undo: {finding.undo}"
        self.notify(printable(words), timeout=10, markup=False)


def _stack_lines(diagnosis: Diagnosis, width: int) -> Iterable[str]:
    """Where in their programs the first causes come from, with --stacks."""
    for finding in diagnosis.findings[:_STACKS]:
        if functions := finding.user_stack:
            who = finding.senders()[0].trigger.label if finding.senders() else finding.cause
            yield ""
            yield from wrapped(f"{who}: {' ← '.join(functions)}", width)


PANELS = (Causes,)
