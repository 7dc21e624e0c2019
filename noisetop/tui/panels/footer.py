"""The lines at the bottom: running time, losses, overhead, the keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from rich.cells import cell_len
from textual import events

from noisetop.counters.overhead import OVERHEAD, Overhead
from noisetop.counters.unavailable import UNAVAILABLE
from noisetop.recording.recording import Recording
from noisetop.summary.summary import Summary
from noisetop.text.sanitize import printable
from noisetop.text.units import format_clock
from noisetop.tui.keys import (
    OPEN,
    QUIT,
    Key,
    ViewKind,
    command_name,
    general_keys,
    renamed,
)
from noisetop.tui.panel import Panel
from noisetop.tui.panels import panels_of
from noisetop.tui.state import State
from noisetop.tui.text_line import TextLine

_GAP = "  "
_MORE = "…"
_HINTS_LINE = 2
_NONE_OWN: Mapping[str, str] = MappingProxyType({})


class FooterLines(TextLine, Panel[tuple[Summary | None, int]]):
    """Three lines; the first or second is an alert when the figures cannot be trusted."""

    ORDER = 100
    DEFAULT_CSS = """
    FooterLines {
        height: 3;
        background: $panel;
    }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._before = (0, 0)
        self._now_percent = 0.0
        self._figures = ("", "")

    def take(self, state: State) -> tuple[Summary | None, int]:
        """The newest totals and how long tracing has been running."""
        return (state.latest.total if state.latest else None, state.running_ns)

    def draw(self, taken: tuple[Summary | None, int]) -> None:
        """Part of Panel."""
        summary, running_ns = taken
        if summary is None:
            self._figures = ("", "")
        elif self.dashboard.player is not None:
            self._figures = _recorded(self.dashboard.player.playback.recording)
        else:
            self._figures = (_running(summary, running_ns), self._overhead(summary, running_ns))
        self.on_resize()

    def on_resize(self) -> None:
        """Other hints fit."""
        self.show(
            *self._figures, key_hints(self.size.width, self.dashboard.kind, self.dashboard.own_keys)
        )

    async def on_click(self, event: events.Click) -> None:
        """A hint does what its key does."""
        if event.y != _HINTS_LINE:
            return
        for hint, first, action in hint_places(
            self.size.width, self.dashboard.kind, self.dashboard.own_keys
        ):
            if first <= event.x < first + cell_len(hint):
                await self.app.run_action(action)

    def _overhead(self, summary: Summary, running_ns: int) -> str:
        own = summary.counters.of(OVERHEAD)
        line = f"overhead {self._cpu_cost(own, running_ns)}, {_bpf_cost(own, running_ns)}"
        if own.housekeeping:
            return f"{line}{_GAP}housekeeping CPU {own.housekeeping}"
        return f"{self.ALERT} no housekeeping CPU: noisetop perturbs the measurement{_GAP}{line}"

    def _cpu_cost(self, own: Overhead, running_ns: int) -> str:
        """Share of one CPU since the last drawing, and so far."""
        cpu_ns = own.cpu_ns - self._before[0]
        elapsed_ns = running_ns - self._before[1]
        if elapsed_ns > 0:
            self._now_percent = max(100 * cpu_ns / elapsed_ns, 0.0)
            self._before = (own.cpu_ns, running_ns)
        mean_percent = 100 * own.cpu_ns / max(running_ns, 1)
        return f"{self._now_percent:.2f}% (mean {mean_percent:.2f}%)"


def _running(summary: Summary, running_ns: int) -> str:
    """Time, and what is missing from the figures."""
    counters = summary.counters
    status = counters.status(running_ns)
    mark = f"{TextLine.ALERT} " if any(brief.alert for brief in status) else ""
    parts = [f"{mark}running {format_clock(running_ns)}", *(brief.text for brief in status)]
    if count := len(counters.of(UNAVAILABLE)):
        parts.append(f"{count} {'source' if count == 1 else 'sources'} not available (h)")
    return _GAP.join(parts)


def _bpf_cost(own: Overhead, running_ns: int) -> str:
    """Run time of the BPF programs on all CPUs, as a share of one."""
    if own.bpf_ns is None:
        return "BPF not measured"
    share_percent = 100 * own.bpf_ns / max(running_ns, 1)
    return f"BPF {share_percent:.3f}% (~{own.bpf_ns_per_record:.0f} ns/record)"


def _recorded(recording: Recording) -> tuple[str, str]:
    """Where and how it was made, and what is missing from it."""
    counters, about = recording.counters, recording.metadata
    status = counters.status(recording.duration_ns)
    alert = recording.damage or any(brief.alert for brief in status)
    parts = [f"recorded {about.get('started') or ''}".strip(), *(brief.text for brief in status)]
    if recording.damage:
        parts.append(f"damaged: {recording.damage}")
    if count := len(counters.of(UNAVAILABLE)):
        parts.append(f"{count} {'source' if count == 1 else 'sources'} not available (h)")
    where = [str(about.get(name) or "") for name in ("host", "kernel", "command")]
    first, second = (printable(_GAP.join(filter(None, some))) for some in (parts, where))
    return f"{TextLine.ALERT} {first}" if alert else first, second


def key_hints(
    width: int, kind: ViewKind = ViewKind.LIVE, own_keys: Mapping[str, str] = _NONE_OWN
) -> str:
    """The hints of such a view that fit as a whole into a line of this width."""
    hints = [hint for hint, _ in _hints(kind, own_keys)]
    room = width - 1  # a TextLine begins with a blank
    if len(_GAP.join(hints)) <= room:
        return _GAP.join(hints)
    room -= len(_GAP + _MORE)
    while hints and len(_GAP.join(hints)) > room:
        hints.pop()
    return _GAP.join([*hints, _MORE])


def _hints(kind: ViewKind, own_keys: Mapping[str, str]) -> list[tuple[str, str]]:
    """Every hint with the action of the app that its key has; empty: a widget has it."""
    of_panels = [(key, panel.__name__) for panel in panels_of(kind) for key in panel.KEYS]
    first, *general = [(key, "") for key in (QUIT, *general_keys(kind))]
    return [
        (renamed(key, own_keys.get(_command(key, panel))).hint, _action(key, panel))
        for key, panel in (first, *of_panels, *general)
        if key.hint
    ]


def _command(key: Key, panel: str) -> str:
    """A key of a panel without names of its own is one of the app."""
    return command_name(key.action, panel if key.names else "")


def _action(key: Key, panel: str) -> str:
    if key.names and panel:
        return f"panel('{panel}', '{key.action}')"
    return "" if key.action == OPEN else key.action


def hint_places(
    width: int, kind: ViewKind, own_keys: Mapping[str, str] = _NONE_OWN
) -> Iterator[tuple[str, int, str]]:
    """Each hint that a click can do something on, with its first cell and the action."""
    shown, at = key_hints(width, kind, own_keys).split(_GAP), 1
    for text, (hint, action) in zip(shown, _hints(kind, own_keys), strict=False):
        if text == hint and action:
            yield hint, at, action
        at += cell_len(text + _GAP)


PANELS = (FooterLines,)
