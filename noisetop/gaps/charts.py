"""Probe results as SVG charts, by the end of the file name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from noisetop.errors import UsageError
from noisetop.gaps.result import CpuSpin, ProbeResult, SpinResult
from noisetop.gaps.svg import Box, box_chart, box_of, percentile_chart, timeline_chart
from noisetop.text.units import format_ns

LATENCY_SUFFIX = ".latency.svg"
TIMELINE_SUFFIX = ".timeline.svg"
SVG_SUFFIX = ".svg"


def chart_of(result: ProbeResult, path: Path) -> bytes:
    """The chart that ``path`` asks for. Raises UsageError when the result holds no such chart."""
    name = path.name.lower()
    for suffix, kind, draw in _CHARTS:
        if name.endswith(suffix) and result.kind == kind:
            return draw(result)
    raise UsageError(
        f"a result of probe {result.kind} has no chart for {path.name}: "
        f"end the name in {' or '.join(suffixes_of(result.kind))}"
    )


def suffixes_of(kind: str) -> list[str]:
    """Ends of file names that give a chart of this kind of result."""
    return [suffix for suffix, of, _ in _CHARTS if of == kind]


def cpu_name(spin: CpuSpin) -> str:
    """What a thread is called in charts and reports."""
    return f"CPU {spin.cpu}" if spin.cpu >= 0 else "not bound"


def _names(result: ProbeResult) -> list[tuple[str, CpuSpin]]:
    several = len(result.spin) > 1
    return [
        (f"{cpu_name(cpu)}, busy {run.busy_percent} %" if several else cpu_name(cpu), cpu)
        for run in result.spin
        for cpu in run.cpus
    ]


def _percentiles(result: ProbeResult) -> bytes:
    curves = [
        (name, [(share, ns) for share, ns in cpu.curve]) for name, cpu in _names(result) if cpu.gaps
    ]
    return percentile_chart("Gaps by percentile", curves)


def _timeline(result: ProbeResult) -> bytes:
    rows = []
    for name, cpu in _names(result):
        bars = [
            (start - cpu.start_ns, end - cpu.start_ns, f"inactive {format_ns(end - start)}")
            for start, end in cpu.timeline
        ]
        rows.append((name, bars))
    span = max((cpu.end_ns - cpu.start_ns for _, cpu in _names(result)), default=1)
    shown = "the longest" if _is_cut(result.spin) else "all"
    return timeline_chart(f"Gaps of each thread: {shown}", rows, span)


def _is_cut(runs: list[SpinResult]) -> bool:
    return any(len(cpu.timeline) < cpu.gaps for run in runs for cpu in run.cpus)


def _slices(result: ProbeResult) -> bytes:
    assert result.switch
    switch = result.switch
    first = min((start for _, start, _ in switch.timeline), default=0)
    last = max((end for _, _, end in switch.timeline), default=1)
    rows = []
    for index, process in enumerate(switch.processes):
        bars = [
            (start - first, end - first, f"ran {format_ns(end - start)}")
            for number, start, end in switch.timeline
            if number == index
        ]
        rows.append((f"PID {process.pid}", bars))
    title = f"CPU {switch.cpu}: the first {len(switch.timeline)} time slices"
    return timeline_chart(title, rows, last - first)


def _bandwidth(result: ProbeResult) -> bytes:
    assert result.numa
    boxes: list[Box] = []
    for cell in result.numa.cells:
        where = f" {cell.cpu_node}→{cell.memory_node}" if len(result.numa.cells) > 1 else ""
        boxes += [box_of(f"{name}{where}", values) for name, values in cell.bandwidth.items()]
    return box_chart("Memory bandwidth of one thread", boxes, "GB/s")


def _latency(result: ProbeResult) -> bytes:
    assert result.numa
    boxes = [
        box_of(f"{cell.cpu_node}→{cell.memory_node}", cell.latency_ns) for cell in result.numa.cells
    ]
    return box_chart("Memory latency, CPU node → memory node", boxes, "ns")


_CHARTS: tuple[tuple[str, str, Callable[[ProbeResult], bytes]], ...] = (
    (TIMELINE_SUFFIX, "spin", _timeline),
    (SVG_SUFFIX, "spin", _percentiles),
    (SVG_SUFFIX, "switch", _slices),
    (LATENCY_SUFFIX, "numa", _latency),
    (SVG_SUFFIX, "numa", _bandwidth),
)
