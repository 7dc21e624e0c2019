"""The three most expensive causes with their remedies, in view where the terminal has room."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.strip import Strip

from noisetop.diagnosis import Diagnosis
from noisetop.diagnosis.brief import rate_words, share_words
from noisetop.diagnosis.finding import Finding
from noisetop.text.column import shorten_end
from noisetop.text.sanitize import printable
from noisetop.text.units import format_ns
from noisetop.tui.keys import Key
from noisetop.tui.panel import Panel
from noisetop.tui.panels.cause import CauseRow
from noisetop.tui.severity import Severity, severity_of
from noisetop.tui.state import State

_TOP = 3
_LINES_OF_ONE = 2
_RATE, _SHARE = 12, 5
_INDENT = 1 + 2 + 2 + _RATE + 1 + _SHARE + 2
_REMEDY = Style(bold=True)


@dataclass(frozen=True, slots=True)
class CauseLines:
    """One cause: how bad it is, its figures, and its two texts, harmless on a terminal."""

    severity: Severity
    figures: str
    cause: str
    remedy: str


def cause_lines(finding: Finding, diagnosis: Diagnosis) -> CauseLines:
    """Rate and share of what was lost, as the list of causes has them."""
    duration_ns = diagnosis.evidence.duration_ns
    of_all = finding.cost_ns / (duration_ns * max(len(diagnosis.evidence.cpus), 1))
    rate = rate_words(finding, diagnosis)
    figures = f"{rate:>{_RATE}} {share_words(finding, diagnosis):>{_SHARE}}"
    remedy = f"→ {printable(finding.remedy)}"
    return CauseLines(severity_of(of_all), figures, printable(finding.cause), remedy)


def top_findings(findings: Sequence[Finding], most: int) -> list[Finding]:
    """The first of them. What is self-inflicted comes behind all others: the largest of that takes
    the last place where it costs more than who would have it."""
    top = list(findings[:most])
    own = max((one for one in findings if one.is_own), key=lambda one: one.cost_ns, default=None)
    if own is None or own in top or not top:
        return top
    return [*top[:-1], own] if own.cost_ns > top[-1].cost_ns else top


class TopCauses(Panel[Diagnosis | None]):
    """The feed diagnoses while it is in view; the app's style sheet says where there is room."""

    ORDER = 28
    ALLOW_SELECT = False
    KEYS = (
        Key("1  2  3", "the first, second, third cause in view: evidence, remedy, undo", "1",
            "first", "1 2 3 cause"),
        Key("", "the second cause in view", "2", "second"),
        Key("", "the third cause in view", "3", "third"),
    )  # fmt: skip
    DEFAULT_CSS = """
    TopCauses {
        display: none;
        height: 7;
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._diagnosis: Diagnosis | None = None

    def on_show(self) -> None:
        """Part of Textual: there is room for it."""
        self.dashboard.want_causes(self, wanted=True)

    def on_hide(self) -> None:
        """Part of Textual: there is none any more."""
        self.dashboard.want_causes(self, wanted=False)

    def take(self, state: State) -> Diagnosis | None:
        """The newest diagnosis, also while the tables are paused."""
        return state.latest.diagnosis if state.latest else None

    def draw(self, taken: Diagnosis | None) -> None:
        """Part of Panel."""
        self._diagnosis = taken
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Part of Textual's line API."""
        base, width = self.rich_style, self.size.width
        if not y:
            heading = shorten_end(f" {self._title()}", width)
            return Strip([Segment(heading, base + Style(bold=True))]).crop_extend(0, width, base)
        segments = list(self._segments(y - 1, width - 1, base))
        return Strip(segments).crop_extend(0, width, base)

    def _title(self) -> str:
        diagnosis = self._diagnosis
        if diagnosis is None:
            return "Causes: collecting data"
        if not diagnosis.findings:
            return "Causes: no noise"
        span, live = format_ns(diagnosis.evidence.duration_ns), self.dashboard.player is None
        rest = len(diagnosis.findings) - _TOP
        more = f", and {rest} more (d)" if rest > 0 else ""
        return f"Causes{f' over {span}' if live else ''} and remedies: 1 2 3 show one{more}"

    def _segments(self, at: int, width: int, base: Style) -> Iterator[Segment]:
        finding = self._finding(at // _LINES_OF_ONE)
        if finding is None or self._diagnosis is None:
            return
        lines = cause_lines(finding, self._diagnosis)
        if at % _LINES_OF_ONE:
            yield Segment(
                " " * _INDENT + shorten_end(lines.remedy, width - _INDENT), base + _REMEDY
            )
            return
        severity = lines.severity
        yield Segment(f" {at // _LINES_OF_ONE + 1} ", base)
        yield Segment(f"{severity.mark} ", base + severity.style)
        yield Segment(f"{lines.figures}  ", base)
        used = cell_len(lines.figures) + 7
        yield Segment(shorten_end(lines.cause, width - used), base + severity.style)

    def _finding(self, number: int) -> Finding | None:
        findings = top_findings(self._diagnosis.findings, _TOP) if self._diagnosis else []
        return findings[number] if number < len(findings) else None

    def _open(self, number: int) -> None:
        if self.display and (finding := self._finding(number)):
            self.dashboard.open_row(CauseRow(finding.key))

    def action_first(self) -> None:
        """Shows it at length."""
        self._open(0)

    def action_second(self) -> None:
        """Shows it at length."""
        self._open(1)

    def action_third(self) -> None:
        """Shows it at length."""
        self._open(2)

    def on_click(self, event: events.Click) -> None:
        """The same with the one that was clicked."""
        if event.y:
            self._open((event.y - 1) // _LINES_OF_ONE)


PANELS = (TopCauses,)
