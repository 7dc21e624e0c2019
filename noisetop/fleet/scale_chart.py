"""The cost over numbers of ranks as a chart."""

from __future__ import annotations

from noisetop.fleet.scale import Cost, Scale
from noisetop.gaps.svg import COLOURS, Axis, Canvas
from noisetop.text.units import format_ns

_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 260, 60, 56
_BAND = "#dbeafe"


def scale_chart(scale: Scale, sources: int = 4) -> bytes:
    """An SVG file: the cost with its interval, and at the right what it is without each of the
    sources that matter most."""
    work_ns = scale.program.work_ns
    kind = "aligned" if scale.program.aligned else "independent"
    canvas = Canvas(960, 440, f"Cost of noise, steps of {format_ns(work_ns)}, {kind} nodes")
    x = Axis(1, max(scale.program.ranks, 10), _LEFT, canvas.width - _RIGHT, logarithmic=True)
    highest = max(one.high_ns for one in scale.curve) / work_ns
    y = Axis(0, max(highest * 1.1, 1e-9), canvas.height - _BOTTOM, _TOP)
    for mark in y.marks():
        canvas.line(x.start, y.place(mark), x.end, y.place(mark))
        canvas.text(x.start - 8, y.place(mark) + 4, f"{100 * mark:.3g} %", "end")
    for mark in x.marks():
        canvas.line(x.place(mark), y.start, x.place(mark), y.end)
        canvas.text(x.place(mark), y.start + 18, f"{mark:,.0f}", "middle")
    for one in scale.curve:
        at, top = x.place(one.ranks), y.place(one.high_ns / work_ns)
        height = y.place(one.low_ns / work_ns) - top
        canvas.rectangle(at - 4, top, 8, max(height, 1), _BAND, _hint(one, work_ns))
    points = [(x.place(one.ranks), y.place(one.share(work_ns))) for one in scale.curve]
    canvas.polyline(points, COLOURS[0])
    canvas.text((x.start + x.end) / 2, canvas.height - 12, "ranks", "middle")
    canvas.text(x.end + 16, _TOP, f"at {scale.program.ranks:,} ranks")
    rows = [(scale.curve[-1], "all noise")]
    rows += [(one.without, f"without {one.source}") for one in scale.sources[:sources]]
    for number, (one, words) in enumerate(rows):
        colour = COLOURS[number % len(COLOURS)]
        canvas.rectangle(x.end - 4, y.place(one.share(work_ns)) - 3, 8, 6, colour, words)
        canvas.rectangle(x.end + 16, _TOP + 14 + 22 * number, 10, 10, colour, words)
        text = f"{100 * one.share(work_ns):.3g} % {words}"
        canvas.text(
            x.end + 32, _TOP + 23 + 22 * number, text if len(text) < 34 else f"{text[:33]}…"
        )
    return canvas.document()


def _hint(one: Cost, work_ns: int) -> str:
    low, high = 100 * one.low_ns / work_ns, 100 * one.high_ns / work_ns
    return f"{one.ranks:,} ranks: {100 * one.share(work_ns):.3g} %, {low:.3g} to {high:.3g} %"
