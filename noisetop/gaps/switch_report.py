"""Results of ``noisetop probe switch`` as text."""

from __future__ import annotations

from collections.abc import Iterator

from noisetop.gaps.result import SwitchResult
from noisetop.tables.histogram import edges_ns
from noisetop.text.layout import fold_empty_rows
from noisetop.text.sanitize import printable
from noisetop.text.styled import heading
from noisetop.text.units import format_ns

_BAR_WIDTH = 40
_OCTAVE = 16  # steps of a histogram's octave are shown as one bar


def switch_lines(result: SwitchResult) -> Iterator[str]:
    """Time slices, switch cost, and how both agree with the trace."""
    count = len(result.processes)
    yield heading(
        f"CPU {result.cpu}: {count} processes competed for {format_ns(result.duration_ns)}"
    )
    for process in result.processes:
        share = 100 * process.ran_ns / result.duration_ns
        yield (
            f"  PID {process.pid}: {process.slices} slices, ran {format_ns(process.ran_ns)} "
            f"({share:.1f} %)"
        )
    yield f"  time slice: {_figures(result.slice_ns)}"
    yield f"  switch from one to the next: {_figures(result.switch_ns)}"
    yield "  Time slices" if result.slice_histogram else "  no time slice was complete"
    yield from _histogram(result)
    if result.traced_switches is None:
        yield "  not compared with the trace: tracing needs root, or CAP_BPF and CAP_PERFMON"
    else:
        unseen = format_ns(result.unseen_ns or 0)
        yield (
            f"  the trace has {result.traced_switches} of the {result.switches} switches; "
            f"{result.unseen} of its thread events, {unseen} in total, match no time slice: the "
            "process was preempted before its loop ran"
        )


def _figures(figures: dict[str, int]) -> str:
    return printable("  ".join(f"{name} {format_ns(ns)}" for name, ns in figures.items()))


def _histogram(result: SwitchResult) -> Iterator[str]:
    octaves: dict[int, int] = {}
    for bucket, count in result.slice_histogram.items():
        octave = int(bucket) // _OCTAVE
        octaves[octave] = octaves.get(octave, 0) + count
    most = max(octaves.values(), default=1)
    edges = edges_ns()
    rows = []
    for octave in range(min(octaves, default=0), max(octaves, default=-1) + 1):
        count = octaves.get(octave, 0)
        bar = "█" * -(-count * _BAR_WIDTH // most)
        low = format_ns(int(edges[octave * _OCTAVE]))
        rows.append((not count, f"    from {low:>7}  {count:>7}  {bar}".rstrip()))
    yield from fold_empty_rows(rows, "    ")
