"""Charts as SVG files of their own: no script, no style sheet, every text escaped."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from noisetop.text.sanitize import printable
from noisetop.text.units import format_ns

COLOURS = ("#2563eb", "#dc2626", "#059669", "#d97706", "#7c3aed", "#0891b2", "#be185d", "#4b5563")
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 24, 44, 48
_QUARTILES = (0, 0.25, 0.5, 0.75, 1)
_FONT = "12px system-ui, sans-serif"


@dataclass(slots=True)
class Canvas:
    """A drawing of fixed size; elements appear in the order in which they are added."""

    width: int
    height: int
    title: str
    _elements: list[str] = field(default_factory=list)

    def line(self, x1: float, y1: float, x2: float, y2: float, colour: str = "#e5e7eb") -> None:
        """A straight thin line."""
        self._add("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=colour)

    def rectangle(
        self, x: float, y: float, width: float, height: float, colour: str, hint: str = ""
    ) -> None:
        """A filled box; ``hint`` shows when the pointer rests on it."""
        self._add("rect", hint, x=x, y=y, width=width, height=height, fill=colour)

    def polyline(self, points: Sequence[tuple[float, float]], colour: str) -> None:
        """A line through points."""
        text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._add("polyline", points=text, fill="none", stroke=colour)

    def text(self, x: float, y: float, words: str, anchor: str = "start") -> None:
        """One line of text."""
        place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
        self._elements.append(f"<text {place}>{html.escape(printable(words))}</text>")

    def _add(self, element: str, hint: str = "", **attributes: float | str) -> None:
        written = " ".join(
            f'{name}="{html.escape(value if isinstance(value, str) else format(value, ".2f"))}"'
            for name, value in attributes.items()
        )
        inner = f"<title>{html.escape(printable(hint))}</title>" if hint else ""
        self._elements.append(f"<{element} {written}>{inner}</{element}>")

    def document(self) -> bytes:
        """The whole file."""
        title = html.escape(printable(self.title))
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" '
            f'height="{self.height}" viewBox="0 0 {self.width} {self.height}" '
            f'style="font: {_FONT}; background: white" fill="#111827">'
        )
        heading = f'<text x="{_LEFT}" y="24" font-size="15">{title}</text>'
        return "\n".join([head, heading, *self._elements, "</svg>", ""]).encode()


@dataclass(frozen=True, slots=True)
class Axis:
    """From values to pixels, straight or logarithmic."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def place(self, value: float) -> float:
        """Pixel of a value; what lies outside is drawn at the edge."""
        low, high, value = self.low, self.high, min(max(value, self.low), self.high)
        if self.logarithmic:
            low, high, value = math.log10(low), math.log10(high), math.log10(value)
        share = (value - low) / (high - low) if high > low else 0.0
        return self.start + share * (self.end - self.start)

    def marks(self) -> list[float]:
        """Where to label it."""
        if self.logarithmic:
            first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
            powers = [10.0**power for power in range(first, last + 1)]
            return [mark for mark in powers if self.low <= mark <= self.high]
        return [self.low + (self.high - self.low) * i / 5 for i in range(6)]


def _frame(canvas: Canvas, x: Axis, y: Axis, x_label: Callable[[float], str]) -> None:
    for mark in y.marks():
        at = y.place(mark)
        canvas.line(x.start, at, x.end, at)
        canvas.text(x.start - 8, at + 4, format_ns(mark), "end")
    for mark in x.marks():
        at = x.place(mark)
        canvas.line(at, y.start, at, y.end)
        canvas.text(at, y.start + 18, x_label(mark), "middle")


def _legend(canvas: Canvas, labels: Sequence[str], row: int = 0) -> None:
    at = canvas.width - _RIGHT
    for i, label in reversed(list(enumerate(labels))):
        at -= 7 * len(label) + 24
        canvas.rectangle(at, 32 + row, 10, 10, COLOURS[i % len(COLOURS)])
        canvas.text(at + 14, 41 + row, label)


def percentile_chart(
    title: str, curves: Sequence[tuple[str, Sequence[tuple[float, float]]]]
) -> bytes:
    """Curves of (share, ns): the rarer, the further to the right."""
    canvas = Canvas(860, 420, title)
    points = [point for _, curve in curves for point in curve]
    highest = max((ns for _, ns in points), default=1.0)
    lowest = min((ns for _, ns in points), default=1.0)
    rarest = max((1 / (1 - share) for share, _ in points if share < 1), default=10.0)
    x = Axis(1, max(rarest, 10.0), _LEFT, canvas.width - _RIGHT, logarithmic=True)
    low, high = max(lowest * 0.8, 1.0), max(highest * 1.25, 10.0)
    y = Axis(low, high, canvas.height - _BOTTOM, _TOP, logarithmic=True)
    _frame(canvas, x, y, lambda mark: f"{100 * (1 - 1 / mark):.6g} %")
    for i, (_, curve) in enumerate(curves):
        drawn = [(x.place(1 / (1 - s) if s < 1 else rarest), y.place(ns)) for s, ns in curve]
        canvas.polyline(drawn, COLOURS[i % len(COLOURS)])
    canvas.text(canvas.width / 2, canvas.height - 8, "percentile of the gaps", "middle")
    _legend(canvas, [label for label, _ in curves])
    return canvas.document()


def timeline_chart(
    title: str,
    rows: Sequence[tuple[str, Sequence[tuple[float, float, str]]]],
    span_ns: float,
) -> bytes:
    """Rows of bars, each from and to some ns after the beginning, with a hint."""
    height = 26
    canvas = Canvas(1100, _TOP + _BOTTOM + height * max(len(rows), 1), title)
    x = Axis(0, max(span_ns, 1), _LEFT, canvas.width - _RIGHT)
    bottom = canvas.height - _BOTTOM
    for mark in x.marks():
        canvas.line(x.place(mark), bottom, x.place(mark), _TOP)
        canvas.text(x.place(mark), bottom + 18, format_ns(mark), "middle")
    for i, (label, bars) in enumerate(rows):
        top = _TOP + i * height
        canvas.text(_LEFT - 8, top + 16, label, "end")
        for start, end, hint in bars:
            width = max(x.place(end) - x.place(start), 0.4)
            colour = COLOURS[i % len(COLOURS)]
            canvas.rectangle(x.place(start), top + 4, width, height - 8, colour, hint)
    return canvas.document()


@dataclass(frozen=True, slots=True)
class Box:
    """What a box plot shows of some values."""

    label: str
    low: float
    quarter: float
    median: float
    three_quarters: float
    high: float


def box_of(label: str, values: Sequence[float]) -> Box:
    """The box of at least one value; quartiles by linear interpolation."""
    low, quarter, median, three_quarters, high = np.quantile(values, _QUARTILES).tolist()
    return Box(label, low, quarter, median, three_quarters, high)


def box_chart(title: str, boxes: Sequence[Box], unit: str) -> bytes:
    """Boxes side by side on one axis from 0."""
    canvas = Canvas(max(_LEFT + _RIGHT + 90 * len(boxes), 420), 400, title)
    highest = max((box.high for box in boxes), default=1.0) * 1.1 or 1.0
    y = Axis(0, highest, canvas.height - _BOTTOM, _TOP)
    for mark in y.marks():
        canvas.line(_LEFT, y.place(mark), canvas.width - _RIGHT, y.place(mark))
        canvas.text(_LEFT - 8, y.place(mark) + 4, f"{mark:.4g} {unit}", "end")
    for i, box in enumerate(boxes):
        middle = _LEFT + 90 * i + 45
        colour = COLOURS[i % len(COLOURS)]
        canvas.line(middle, y.place(box.low), middle, y.place(box.high), colour)
        top, height = (
            y.place(box.three_quarters),
            y.place(box.quarter) - y.place(box.three_quarters),
        )
        hint = f"{box.label}: median {box.median:.4g} {unit}"
        canvas.rectangle(middle - 22, top, 44, max(height, 1), colour, hint)
        canvas.line(middle - 22, y.place(box.median), middle + 22, y.place(box.median), "#111827")
        canvas.text(middle, canvas.height - _BOTTOM + 18, box.label, "middle")
    return canvas.document()
