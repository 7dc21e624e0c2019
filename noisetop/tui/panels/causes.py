"""The most expensive causes and their remedies, by the rules of ``noisetop diagnose``."""

from __future__ import annotations

from collections.abc import Iterable

from noisetop.diagnosis import Diagnosis
from noisetop.diagnosis.brief import brief_lines
from noisetop.diagnosis.details import wrapped
from noisetop.text.units import format_ns
from noisetop.tui.keys import Key
from noisetop.tui.state import State
from noisetop.tui.text_panel import TextPanel

_TOP = 20
_STACKS = 3
_MARGIN = 4


class Causes(TextPanel[Diagnosis | None]):
    """The feed diagnoses only while it is open, because that costs CPU time."""

    TITLE = "Causes of noise"
    ORDER = 5
    KEYS = (
        Key("d", "causes of noise and their remedies, since it was opened", "d",
            hint="d causes"),
    )  # fmt: skip
    WIDTH = 120

    def on_mount(self) -> None:
        """Asks the feed for a diagnosis."""
        self.dashboard.feed.diagnose(wanted=True)

    def on_unmount(self) -> None:
        """Part of Textual."""
        self.dashboard.feed.diagnose(wanted=False)

    def take(self, state: State) -> Diagnosis | None:
        """The newest diagnosis, also while the tables are paused."""
        return state.latest.diagnosis if state.latest else None

    def lines(self, taken: Diagnosis | None) -> Iterable[str]:
        """Part of TextPanel."""
        if taken is None:
            yield "collecting data"
            return
        span = format_ns(taken.evidence.duration_ns)
        if self.dashboard.player is None:
            self.heading = f"Causes since this view was opened ({span}), updated every 5 s"
        else:
            self.heading = f"Causes in this part ({span})"
        width = min(self.app.size.width, self.WIDTH) - _MARGIN
        yield from list(brief_lines(taken, top=_TOP, width=width)) or ["no noise measured"]
        yield from _stack_lines(taken, width)


def _stack_lines(diagnosis: Diagnosis, width: int) -> Iterable[str]:
    """Where in their programs the first causes come from, with --stacks."""
    for finding in diagnosis.findings[:_STACKS]:
        if functions := finding.user_stack:
            who = finding.senders()[0].trigger.label if finding.senders() else finding.cause
            yield ""
            yield from wrapped(f"{who}: {' ← '.join(functions)}", width)


PANELS = (Causes,)
