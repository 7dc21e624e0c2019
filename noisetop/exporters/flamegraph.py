"""A flame graph in one SVG file that needs nothing but a browser.

The widths are net time. Frames carry their share of the whole in the coordinates 0 to 10^9, so
that the script can zoom without knowing any figure twice.
"""

from __future__ import annotations

import html
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from typing import BinaryIO

from noisetop.counters.losses import LOSSES, describe_losses
from noisetop.exporters._stacks import CLASS, noise_stacks
from noisetop.recording.recording import Recording
from noisetop.summary.recorded import summary_of
from noisetop.summary.summary import Summary
from noisetop.text.cpu_list import format_cpu_list
from noisetop.text.sanitize import printable
from noisetop.text.units import format_ns

SUFFIXES = (".svg",)
HELP = "a flame graph, for any browser"

WIDTH = 1200
ROW_HEIGHT = 18
_HEAD_HEIGHT = 68
_MARGIN = 10
_COLOURS = {
    "nmi": "#d9a0d9",
    "irq": "#e88a7d",
    "ipi": "#f0b070",
    "timer": "#ecd46c",
    "softirq": "#9fcf86",
    "thread": "#8cbde0",
    "fault": "#b9b0e8",
    "entry": "#a5d3cf",
    "hardware": "#c9b59f",
}
_OTHER_COLOUR = "#cfd3d8"


@dataclass(slots=True)
class _Frame:
    """A name, and what is above it."""

    name: str
    noise_class: str = ""
    net_ns: int = 0
    above: dict[str, _Frame] = field(default_factory=dict)

    def height(self) -> int:
        return 1 + max((frame.height() for frame in self.above.values()), default=0)


def write(recording: Recording, out: BinaryIO) -> None:
    """Writes the picture; the same recording gives the same bytes."""
    summary = summary_of(recording)
    root = _tree(summary)
    height = _HEAD_HEIGHT + root.height() * ROW_HEIGHT + _MARGIN
    out.write(_START.format(width=WIDTH, height=height, style=_asset("flamegraph.css")).encode())
    for line in _head(recording, summary, root):
        out.write(line.encode())
    out.write(b'<g id="frames">\n')
    for line in _frames(root, height - _MARGIN - ROW_HEIGHT, root.net_ns):
        out.write(line.encode())
    out.write(f"</g>\n<script><![CDATA[\n{_asset('flamegraph.js')}]]></script>\n</svg>\n".encode())


_START = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
    'viewBox="0 0 {width} {height}">\n<style>\n{style}</style>\n'
    '<rect width="100%" height="100%" fill="#ffffff"/>\n'
)


def _asset(name: str) -> str:
    return (files("noisetop.exporters") / name).read_text()


def _tree(summary: Summary) -> _Frame:
    root = _Frame("noise")
    for stack, net_ns in noise_stacks(summary):
        root.net_ns += net_ns
        frame = root
        for place, name in enumerate(stack):
            noise_class = stack[CLASS] if place >= CLASS else ""
            frame = frame.above.setdefault(name, _Frame(name, noise_class))
            frame.net_ns += net_ns
    return root


def _head(recording: Recording, summary: Summary, root: _Frame) -> Iterator[str]:
    about = recording.metadata
    where = " ".join(str(about[key]) for key in ("host", "kernel") if about.get(key))
    title = f"noise on CPU {format_cpu_list(recording.cpus)}  {where}"
    period = (
        f"{format_ns(root.net_ns)} taken in {format_ns(summary.duration_ns)}"
        f"  from {summary.start_ns} to {summary.end_ns} ns CLOCK_MONOTONIC"
    )
    state = "  ".join(
        part for part in (describe_losses(summary.counters.of(LOSSES)), recording.damage) if part
    )
    yield f"<title>{_text(title)}</title>\n"
    for y, size, line in ((20, 14, title), (36, 11, period), (50, 11, state)):
        yield f'<text x="{_MARGIN}" y="{y}" font-size="{size}">{_text(line)}</text>\n'
    yield (
        f'<foreignObject x="{WIDTH - 270}" y="6" width="260" height="26">'
        '<input xmlns="http://www.w3.org/1999/xhtml" id="search" type="search" '
        'placeholder="search (Ctrl-F)"/></foreignObject>\n'
        f'<text id="found" x="{WIDTH - _MARGIN}" y="50" text-anchor="end" font-size="11"> </text>\n'
        f'<text id="reset" x="{WIDTH - _MARGIN}" y="64" text-anchor="end" font-size="11">'
        "show all</text>\n"
    )


def _frames(root: _Frame, bottom: int, total_ns: int) -> Iterator[str]:
    """Every frame, the lowest first; left to right as the stacks were met, largest first."""
    waiting = [(root, 0, 0)]
    while waiting:
        frame, begins_ns, depth = waiting.pop()
        yield _frame(frame, begins_ns, bottom - depth * ROW_HEIGHT, total_ns)
        for above in sorted(frame.above.values(), key=lambda one: (-one.net_ns, one.name)):
            waiting.append((above, begins_ns, depth + 1))
            begins_ns += above.net_ns


def _frame(frame: _Frame, begins_ns: int, y: int, total_ns: int) -> str:
    whole = total_ns or 1
    scale = (WIDTH - 2 * _MARGIN) / whole
    x, width = _MARGIN + begins_ns * scale, frame.net_ns * scale
    share = 100 * frame.net_ns / whole
    name = _text(frame.name)
    tip = f"{name}: {frame.net_ns} ns ({_text(format_ns(frame.net_ns))}), {share:.3f} %"
    return (
        f'<g data-name="{name}" data-x="{begins_ns * 10**9 // whole}" '
        f'data-w="{frame.net_ns * 10**9 // whole}"><title>{tip}</title>'
        f'<rect x="{x:.3f}" y="{y}" width="{width:.3f}" height="{ROW_HEIGHT - 1}" '
        f'fill="{_colour(frame)}"/><text x="{x + 3:.3f}" y="{y + 13}"></text></g>\n'
    )


def _colour(frame: _Frame) -> str:
    """One hue for each class, a little lighter or darker by name."""
    base = _COLOURS.get(frame.noise_class, _OTHER_COLOUR)
    shade = zlib.crc32(frame.name.encode(errors="replace")) % 21 - 10
    parts = (int(base[at : at + 2], 16) + shade for at in (1, 3, 5))
    return "#" + "".join(f"{min(max(part, 0), 255):02x}" for part in parts)


def _text(name: str) -> str:
    """Harmless in XML text and attributes; no character that XML forbids is left."""
    return html.escape(printable(name))
