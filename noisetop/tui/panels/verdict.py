"""The verdict: how much noise, the worst interval and its culprit, and whether to trust it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from noisetop.columns.noise import label_of
from noisetop.counters.losses import LOSSES
from noisetop.events.interruption import UNATTRIBUTED
from noisetop.summary.summary import CpuSummary, SourceSummary, Summary
from noisetop.summary.worst import WorstInterruption
from noisetop.text.units import format_count, format_ns
from noisetop.tui.panel import Panel
from noisetop.tui.panels.sources import shorten
from noisetop.tui.severity import Severity, severity_of
from noisetop.tui.state import Period, State

_GAP = "   "
_NS_PER_S = 1_000_000_000
_GOOD_LABEL, _LEAST_LABEL = 26, 12
_DOUBTFUL = 0.01
"""Share of the noise that may be unattributed or lost in a figure that is trusted."""


class Verdict(Panel[Period | None]):
    """One line. Where it is short, what is unattributed gives way to the name of the culprit, which
    is shortened, then left out; what is lost stays."""

    ORDER = 2
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    Verdict {
        height: 1;
        text-style: bold;
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._period: Period | None = None

    def take(self, state: State) -> Period | None:
        """The period that is shown."""
        return state.period

    def draw(self, taken: Period | None) -> None:
        """Part of Panel."""
        self._period = taken
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Part of Textual's line API."""
        base, width = self.rich_style, self.size.width
        if self._period is None or y:
            return Strip.blank(width, base)
        player = self.dashboard.player
        moments = player.moments if player else ()
        period = self._period
        parts = verdict_parts(period.summary, period.everywhere, width - 2, moments)
        segments = [Segment(" ", base)]
        for text, severity in parts:
            segments.append(Segment(text, base + _style(severity)))
        return Strip(segments).crop_extend(0, width, base)


def _style(severity: Severity | None) -> Style:
    return severity.style if severity else Style()


Parts = list[tuple[str, Severity | None]]


def verdict_parts(
    summary: Summary,
    everywhere: CpuSummary,
    width: int,
    moments: Sequence[WorstInterruption] = (),
) -> Parts:
    """Text with what colours it, at most ``width`` cells; ``moments``: the longest intervals of a
    recording, whose parts are known."""
    loss, ends = _lost(summary, everywhere), _trust(summary, everywhere)
    longest = max(map(_longest, summary.cpus), key=lambda one: one.noise_ns, default=None)
    worst = _worst(longest)
    culprit = _culprit(summary, longest, moments)
    fixed = [*loss, (_GAP, None), *worst] if worst else loss
    room = width - _cells(fixed)
    needed = cell_len(culprit) + 2
    for end, least in zip(ends, (_GOOD_LABEL, _LEAST_LABEL, _LEAST_LABEL), strict=True):
        rest = room - _cells(end)
        if culprit and rest >= min(needed, least):
            return [*fixed, (f": {shorten(culprit, rest - 2)}", None), *end]
    return next(([*fixed, *end] for end in ends if _cells(end) <= room), fixed)


def _cells(parts: Parts) -> int:
    return sum(cell_len(text) for text, _ in parts)


def _lost(summary: Summary, everywhere: CpuSummary) -> Parts:
    """``! ≈2.31% lost, 1.92% net``."""
    time_ns = max(summary.duration_ns * len(summary.cpus), 1)
    net = everywhere.external_ns / time_ns
    cost_ns = everywhere.external_cost_ns
    severity = severity_of(net if cost_ns is None else cost_ns / time_ns)
    if not everywhere.external_ns:
        return [("no noise", None)]
    words = f"{severity.mark} {100 * net:.3g}% noise (net)"
    if cost_ns is not None:
        words = f"{severity.mark} ≈{100 * cost_ns / time_ns:.3g}% lost, {100 * net:.3g}% net"
    return [(words, severity)]


class _Longest(NamedTuple):
    """An interval of noise on one CPU."""

    noise_ns: int
    start_ns: int
    cpu: CpuSummary


def _longest(cpu: CpuSummary) -> _Longest:
    """The longest interval, or, where there is more in it than all noise of others, as turns of
    victims are intervals too, the longest interruption."""
    if cpu.max_single_ns <= cpu.external_ns:
        return _Longest(cpu.max_single_ns, cpu.max_single_start_ns, cpu)
    largest = max(cpu.external, key=lambda one: one.max_ns, default=None)
    return _Longest(largest.max_ns, largest.max_start_ns, cpu) if largest else _Longest(0, 0, cpu)


def _worst(longest: _Longest | None) -> Parts:
    """``worst 13.3 ms``."""
    if longest is None or not longest.noise_ns:
        return []
    return [(f"worst {format_ns(longest.noise_ns)}", None)]


def _culprit(
    summary: Summary, longest: _Longest | None, moments: Sequence[WorstInterruption]
) -> str:
    """CPU and largest part of the longest interval; the moment where no longest interruption of a
    source lies in it, as of one that is made of many."""
    if longest is None or not longest.noise_ns:
        return ""
    start_ns, length_ns, cpu = longest.start_ns, longest.noise_ns, longest.cpu
    at = start_ns, cpu.cpu
    told = (one for one in moments if (one.interval.start_ns, one.interval.cpu) == at)
    if (moment := next(told, None)) and moment.parts:
        part = max(moment.parts, key=lambda one: one.net_ns)
        return f"CPU {cpu.cpu} {label_of(part.source)}"
    inside = [
        one
        for one in cpu.external
        if start_ns <= one.max_start_ns <= start_ns + length_ns and one.max_ns
    ]
    largest = max(inside, key=lambda one: one.max_ns, default=None)
    if largest is None:
        return f"CPU {cpu.cpu} at {(start_ns - summary.start_ns) / _NS_PER_S:.3f} s"
    return f"CPU {cpu.cpu} {label_of(largest.source)}"


def _trust(summary: Summary, everywhere: CpuSummary) -> tuple[Parts, Parts, Parts]:
    """``lost 0, unattributed 0%``, then ``lost 0`` alone, sooner where the rest is no reason for
    doubt; set off where the figures are in doubt."""
    lost = summary.counters.of(LOSSES).total
    unknown_ns = sum(_unattributed(everywhere.external))
    noise_ns = max(everywhere.external_ns, 1)
    unknown = unknown_ns > _DOUBTFUL * noise_ns
    doubt = severity_of(1.0) if lost or unknown else None
    events = f"LOST {format_count(lost)}" if lost else "lost 0"
    mark = "? " if doubt else ""
    share = f", unattributed {100 * unknown_ns / noise_ns:.2g}%"
    both: Parts = [(_GAP, None), (f"{mark}{events}{share}", doubt)]
    brief: Parts = [(_GAP, None), (f"{mark}{events}", doubt)]
    return both, both if unknown else brief, brief


def _unattributed(sources: Sequence[SourceSummary]) -> Iterator[int]:
    return (one.net_ns for one in sources if one.source == UNATTRIBUTED)


PANELS = (Verdict,)
