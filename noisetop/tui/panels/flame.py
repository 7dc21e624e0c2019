"""The flame graph of noise: CPU, whose doing it was, class, source, function, by whom."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input

from noisetop.events.origin import Origin
from noisetop.summary.noise_stacks import CLASS, Frame, noise_stacks, noise_tree
from noisetop.summary.summary import SourceSummary, Summary
from noisetop.text.sanitize import printable
from noisetop.text.units import format_ns
from noisetop.tui.flame_graph import FlameGraph
from noisetop.tui.flame_layout import found_in, frame_at
from noisetop.tui.keys import Key
from noisetop.tui.panel import Panel, Place
from noisetop.tui.state import Period, State
from noisetop.tui.text_line import TextLine

EXTERNAL, ALL = "external", "all"
"""What is shown beside a single origin: the noise of the headline, or that and all else."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which noise the graph shows."""

    by_cpu: bool = True
    whose: str = EXTERNAL
    """EXTERNAL, ALL or the label of an origin."""

    def includes(self, source: SourceSummary) -> bool:
        """Whether it is part of the graph."""
        if self.whose == EXTERNAL:
            return source.is_external
        return self.whose in (ALL, source.origin.label)


def flame_of(summary: Summary, choice: Choice) -> Frame:
    """The tree of a period; the exporters walk the same stacks. Its widths are net time in ns."""
    stacks = noise_stacks(summary, choice.includes)
    if choice.by_cpu:
        return noise_tree(stacks)
    return noise_tree(((stack[1:], net_ns) for stack, net_ns in stacks), CLASS - 1)


class Flame(Vertical, Panel[Period | None]):
    """The graph, below it the frame with the cursor and what was searched for."""

    TITLE = "Flame graph"
    ORDER = 7
    PLACE = Place.OVERLAY
    WIDTH = 1_000
    COVERS = True
    KEYS = (
        Key("f", "flame graph: CPU, origin, class, source, function, by whom", "f", hint="f flame"),
        Key("Enter", "in the flame graph: zoom in; Esc zooms out, then closes"),
        Key("c", "in the flame graph: each CPU, or all together"),
        Key("o", "in the flame graph: external noise, all noise, or that of one origin"),
        Key("/", "in the flame graph: set off frames that match a regular expression"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,backspace", "out", "zoom out", show=False),
        Binding("c", "cpus", "CPUs", show=False),
        Binding("o", "origin", "origin", show=False),
        Binding("slash", "search", "search", show=False),
    ]
    DEFAULT_CSS = """
    Flame { height: 100vh; }
    Flame > TextLine { height: 4; text-style: none; }
    Flame > Input {
        display: none;
        height: 1;
        border: none;
        padding: 0 1;
        background: $panel;
    }
    Flame > Input:focus { border: none; }
    Flame > Input.open { display: block; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._choice = Choice()
        self._summary: Summary | None = None
        self._search = ""
        self._found_ns = 0

    def compose(self) -> ComposeResult:
        """Part of Textual."""
        yield FlameGraph()
        yield TextLine()
        field = Input(placeholder="regular expression", compact=True)
        field.cursor_blink = False
        yield field

    def on_mount(self) -> None:
        """It begins with the CPU that the dashboard shows."""
        if (cpu := self.dashboard.state.view.cpu) is not None:
            self._graph.zoom = self._graph.cursor = (f"cpu {cpu}",)
        self._graph.focus()

    @property
    def _graph(self) -> FlameGraph:
        return self.query_one(FlameGraph)

    def take(self, state: State) -> Period | None:
        """The period that is shown."""
        return state.period

    def draw(self, taken: Period | None) -> None:
        """Part of Panel."""
        if taken is None:
            self.query_one(TextLine).show("no sample yet")
            return
        self._summary = taken.summary
        self._show()

    def _show(self) -> None:
        if self._summary is None:
            return
        root = flame_of(self._summary, self._choice)
        words = {EXTERNAL: "external noise", ALL: "all noise"}
        whose = words.get(self._choice.whose, f"noise of origin '{self._choice.whose}'")
        self.heading = f"{self.TITLE}: {whose}, {format_ns(root.net_ns)} net"
        self._mark(root)
        self._graph.show(root)

    def _mark(self, root: Frame) -> None:
        matches = _matching(self._search)
        found, self._found_ns = found_in(root, matches) if matches else (set(), 0)
        self._graph.mark(found)

    @on(FlameGraph.Moved)
    def _tell(self) -> None:
        graph = self._graph
        frame = frame_at(graph.root, graph.cursor)
        if frame is None:
            return
        path = printable(" › ".join(graph.cursor)) or "all of it"
        keys = "Enter zooms in  Esc out  ←→↑↓ frames  c CPUs  o origin  / search"
        figures = _figures(graph, frame)
        self.query_one(TextLine).show(path, figures, self._found_words(graph), keys)

    def _found_words(self, graph: FlameGraph) -> str:
        if not self._search:
            return ""
        if _matching(self._search) is None:
            return f"'{printable(self._search)}' is no regular expression"
        share = 100 * self._found_ns / max(graph.root.net_ns, 1)
        count = f"{len(graph.found)} {'frame' if len(graph.found) == 1 else 'frames'}"
        what = f"{format_ns(self._found_ns)}, {share:.3g}% of all"
        return f"◆ /{printable(self._search)}/: {count}, {what}"

    def choose(self) -> bool:
        """Part of Panel: Enter zooms in, or ends the search."""
        if self.query_one(Input).has_class("open"):
            self._close_field()
        else:
            self._graph.zoom_in()
        return False

    def action_out(self) -> None:
        """Ends the search, zooms out, or closes."""
        if self.query_one(Input).has_class("open") or self._search:
            self.query_one(Input).value = self._search = ""
            self._close_field()
            self._mark(self._graph.root)
            self._tell()
        elif not self._graph.zoom_out():
            self.screen.dismiss()

    def _close_field(self) -> None:
        self.query_one(Input).remove_class("open")
        self._graph.focus()

    def action_cpus(self) -> None:
        """Each CPU, or all together."""
        by_cpu = not self._choice.by_cpu
        graph = self._graph
        if by_cpu:
            graph.zoom = graph.cursor = ()
        else:
            graph.zoom, graph.cursor = graph.zoom[1:], graph.cursor[1:]
        self._choice = replace(self._choice, by_cpu=by_cpu)
        self._show()

    def action_origin(self) -> None:
        """The next choice of origin: those that occur."""
        if self._summary is None:
            return
        met = {
            source.origin for cpu in self._summary.cpus for source in cpu.sources if source.count
        }
        choices = [EXTERNAL, ALL, *(origin.label for origin in Origin if origin in met)]
        at = choices.index(self._choice.whose) if self._choice.whose in choices else -1
        self._choice = replace(self._choice, whose=choices[(at + 1) % len(choices)])
        self._show()

    def action_search(self) -> None:
        """Opens the line for a regular expression."""
        field = self.query_one(Input)
        field.add_class("open")
        field.focus()

    @on(Input.Changed)
    def _search_changed(self, event: Input.Changed) -> None:
        self._search = event.value
        self._mark(self._graph.root)
        self._tell()


def _matching(pattern: str) -> Callable[[str], Any] | None:
    """Finds it in a name, ignoring case; None: it is empty or none."""
    if not pattern:
        return None
    try:
        return re.compile(pattern, re.IGNORECASE).search
    except re.error:
        return None


def _figures(graph: FlameGraph, frame: Frame) -> str:
    parts = [f"{format_ns(frame.net_ns)} net"]
    parts.append(f"{100 * frame.net_ns / max(graph.root.net_ns, 1):.3g}% of all")
    zoomed = frame_at(graph.root, graph.zoom)
    if graph.zoom and zoomed is not None and len(graph.cursor) > len(graph.zoom):
        share = 100 * frame.net_ns / max(zoomed.net_ns, 1)
        parts.append(f"{share:.3g}% of '{printable(zoomed.name)}'")
    parts += _largest(frame)
    return "  ".join(parts)


def _largest(frame: Frame) -> Iterable[str]:
    """What of it is most of it."""
    if frame.above:
        most = frame.largest_first[0]
        share = 100 * most.net_ns / max(frame.net_ns, 1)
        yield f"mostly {printable(most.name)} ({share:.3g}%)"


PANELS = (Flame,)
