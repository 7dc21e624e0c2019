"""A flame graph in one SVG file that needs nothing but a browser.

The widths are net time. Frames carry their share of the whole in the coordinates 0 to 10^9, so
that the script can zoom without knowing any figure twice.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from importlib.resources import files
from typing import BinaryIO

from noisetop.columns.class_colours import class_colour
from noisetop.counters.losses import LOSSES, describe_losses
from noisetop.recording.recording import Recording
from noisetop.summary.noise_stacks import Frame, noise_stacks, noise_tree
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


def write(recording: Recording, out: BinaryIO) -> None:
    """Writes the picture; the same recording gives the same bytes."""
    summary = summary_of(recording)
    root = noise_tree(noise_stacks(summary))
    height = _HEAD_HEIGHT + root.height * ROW_HEIGHT + _MARGIN
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


def _head(recording: Recording, summary: Summary, root: Frame) -> Iterator[str]:
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


def _frames(root: Frame, bottom: int, total_ns: int) -> Iterator[str]:
    """Every frame, the lowest first; left to right as the stacks were met, largest first."""
    waiting = [(root, 0, 0)]
    while waiting:
        frame, begins_ns, depth = waiting.pop()
        yield _frame(frame, begins_ns, bottom - depth * ROW_HEIGHT, total_ns)
        for above in frame.largest_first:
            waiting.append((above, begins_ns, depth + 1))
            begins_ns += above.net_ns


def _frame(frame: Frame, begins_ns: int, y: int, total_ns: int) -> str:
    whole = total_ns or 1
    scale = (WIDTH - 2 * _MARGIN) / whole
    x, width = _MARGIN + begins_ns * scale, frame.net_ns * scale
    share = 100 * frame.net_ns / whole
    name, colour = _text(frame.name), class_colour(frame.noise_class, frame.name)
    tip = f"{name}: {frame.net_ns} ns ({_text(format_ns(frame.net_ns))}), {share:.3f} %"
    return (
        f'<g data-name="{name}" data-x="{begins_ns * 10**9 // whole}" '
        f'data-w="{frame.net_ns * 10**9 // whole}"><title>{tip}</title>'
        f'<rect x="{x:.3f}" y="{y}" width="{width:.3f}" height="{ROW_HEIGHT - 1}" '
        f'fill="{colour}"/><text x="{x + 3:.3f}" y="{y + 13}"></text></g>\n'
    )


def _text(name: str) -> str:
    """Harmless in XML text and attributes; no character that XML forbids is left."""
    return html.escape(printable(name))
