"""One moment on a time axis: a lane for each level of the CPU, for each CPU that sent something,
and for the victim. Pure layout; nothing is drawn here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from noisetop.columns.noise import label_of
from noisetop.summary.worst import Part, WorstInterruption
from noisetop.text.units import format_ns

_MARGIN = 20
"""A part of the moment that is shown on either side of it: one in so many."""
_BEFORE = 2
"""Triggers are in view where they acted at most 1/_BEFORE of the moment before it."""
_THREADS = 1
"""Levels up to this: what ran in place of the victim."""
NESTED, RUNS, INTERRUPTED, WAITS, SENT, EARLIER = "┄", "█", "▒", "░", "▼", "◀"
_TICK_EVERY = 14
_STEPS = (1, 2, 5)


@dataclass(frozen=True, slots=True)
class Axis:
    """From CLOCK_MONOTONIC ns to cells."""

    start_ns: int
    end_ns: int
    width: int

    def x(self, time_ns: int) -> int:
        """The cell of a moment, inside the axis."""
        cell = (time_ns - self.start_ns) * self.width // max(self.end_ns - self.start_ns, 1)
        return max(0, min(cell, self.width - 1))

    def span(self, start_ns: int, end_ns: int) -> tuple[int, int]:
        """First cell and the one behind the last; at least one."""
        first = self.x(start_ns)
        last = (end_ns - self.start_ns) * self.width // max(self.end_ns - self.start_ns, 1)
        return first, max(first + 1, min(last, self.width))

    def shows(self, start_ns: int, end_ns: int) -> bool:
        """Whether any of it is in view."""
        return start_ns < self.end_ns and end_ns > self.start_ns


@dataclass(frozen=True, slots=True)
class Bar:
    """Cells of one part in its lane."""

    x: int
    text: str
    part: int
    """Its number among the parts."""


@dataclass(frozen=True, slots=True)
class Lane:
    """One line of bars; with ``text`` in place of bars: drawn as it is."""

    label: str
    bars: tuple[Bar, ...] = ()
    text: str = ""


def axis_of(moment: WorstInterruption, width: int, zoom: Part | None = None) -> Axis:
    """The whole moment with the triggers shortly before it, or one part of it."""
    start_ns, end_ns = moment.interval.start_ns, moment.interval.end_ns
    acted = [part.trigger_ns for part in moment.parts if part.trigger_ns]
    if zoom is not None:
        start_ns, end_ns = zoom.start_ns, zoom.start_ns + max(zoom.gross_ns, 1)
        acted = [zoom.trigger_ns] if zoom.trigger_ns else []
    length_ns = max(end_ns - start_ns, 1)
    first_ns = min([start_ns, *(ns for ns in acted if start_ns - ns <= length_ns // _BEFORE)])
    margin_ns = max(length_ns // _MARGIN, 1)
    return Axis(first_ns - margin_ns, end_ns + margin_ns, max(width, 1))


def level_lanes(parts: Sequence[Part], axis: Axis) -> list[Lane]:
    """A lane for each level that occurs, what interrupts all others first."""
    lanes = []
    for level in sorted({part.level for part in parts}, reverse=True):
        mine = [number for number, part in enumerate(parts) if part.level == level]
        classes = dict.fromkeys(parts[number].source.noise_class for number in mine)
        bars = [_bar(parts, number, axis) for number in mine if _in_view(parts[number], axis)]
        lanes.append(Lane("/".join(classes), tuple(bars)))
    return lanes


def _in_view(part: Part, axis: Axis) -> bool:
    return axis.shows(part.start_ns, part.start_ns + part.gross_ns)


def _bar(parts: Sequence[Part], number: int, axis: Axis) -> Bar:
    """Blank with its label; what runs above it in the same time is dotted."""
    part = parts[number]
    end_ns = part.start_ns + part.gross_ns
    first, last = axis.span(part.start_ns, end_ns)
    cells = [" "] * (last - first)
    for other in parts:
        if other.level > part.level and part.start_ns <= other.start_ns < end_ns:
            begin, end = axis.span(other.start_ns, other.start_ns + other.gross_ns)
            cells[begin - first : end - first] = [NESTED] * len(cells[begin - first : end - first])
    return Bar(first, _labelled(cells, label_of(part.source).rpartition(" › ")[2]), number)


def _labelled(cells: list[str], label: str) -> str:
    """The label in the first blank run that it fits into, else cut in the longest one."""
    text = "".join(cells)
    runs = [len(run) for run in text.split(NESTED)]
    wanted = next((run for run in runs if run >= len(label)), max(runs))
    if not wanted or not label.isascii():
        return text
    return text.replace(" " * wanted, label[:wanted].ljust(wanted), 1)


def sender_lanes(parts: Sequence[Part], axis: Axis) -> list[Lane]:
    """For each CPU from which a part was triggered at a known moment: when that was."""
    known = [part for part in parts if part.trigger_ns and part.trigger.cpu >= 0]
    lanes = []
    for cpu in sorted({part.trigger.cpu for part in known}):
        cells = [" "] * axis.width
        for part in known:
            if part.trigger.cpu == cpu and part.trigger_ns < axis.end_ns:
                earlier = part.trigger_ns < axis.start_ns
                cells[axis.x(part.trigger_ns)] = EARLIER if earlier else SENT
        lanes.append(Lane(f"from CPU {cpu}", text="".join(cells)))
    return lanes


def arrow(part: Part, axis: Axis) -> str:
    """From where a part was triggered to where it begins; empty: that is not known."""
    if not part.trigger_ns or part.trigger_ns >= part.start_ns or part.trigger.cpu < 0:
        return ""
    first, last = axis.x(part.trigger_ns), axis.x(part.start_ns)
    if part.trigger_ns < axis.start_ns:
        return "─" * last + "▼"
    if first == last:
        return " " * first + "▼"
    return " " * first + "╰" + "─" * (last - first - 1) + "▼"


def victim_lane(moment: WorstInterruption, axis: Axis) -> Lane:
    """When the victim ran, was interrupted, or waited for its CPU."""
    cells = [RUNS] * axis.width
    interval = moment.interval
    first, last = axis.span(interval.start_ns, interval.end_ns)
    cells[first:last] = [INTERRUPTED] * (last - first)
    for part in moment.parts:
        if part.level <= _THREADS and _in_view(part, axis):
            first, last = axis.span(part.start_ns, part.start_ns + part.gross_ns)
            cells[first:last] = [WAITS] * (last - first)
    return Lane("victim", text="".join(cells))


def ticks(axis: Axis, origin_ns: int) -> str:
    """Times after the start of the moment, below each a mark."""
    per_cell = (axis.end_ns - axis.start_ns) / axis.width
    wanted_ns = max(per_cell * _TICK_EVERY, 1)
    power = 10 ** (len(str(int(wanted_ns))) - 1)
    step_ns = next((one * power for one in _STEPS if one * power >= wanted_ns), 10 * power)
    line, tick_ns = "", -((origin_ns - axis.start_ns) // step_ns) * step_ns
    while origin_ns + tick_ns < axis.end_ns:
        label = f"{'-' if tick_ns < 0 else ''}{format_ns(abs(tick_ns))}" if tick_ns else "0"
        longer = f"{line.ljust(axis.x(origin_ns + tick_ns))}╷{label}"
        line = longer if len(longer) <= axis.width else line  # a cut figure is another one
        tick_ns += step_ns
    return line
