"""The first lines of a report: how much noise there was, its worst moment, top source and cause."""

from __future__ import annotations

from collections.abc import Iterator

from noisetop.columns.noise import label_of
from noisetop.diagnosis import Diagnosis
from noisetop.summary.summary import CpuSummary, Summary
from noisetop.summary.worst import Part, WorstInterruption
from noisetop.text.sanitize import printable
from noisetop.text.units import format_ns

_NS_PER_S = 1_000_000_000

Row = tuple[str, str]
"""Title and text of a line in the head of the report."""


def verdict_rows(
    summary: Summary, worst: tuple[WorstInterruption, ...], diagnosis: Diagnosis
) -> Iterator[Row]:
    """Noise, worst interval, top source and top cause; the latter only where there is noise."""
    everywhere = summary.all_cpus()
    yield "noise", _noise(summary, everywhere)
    if worst:
        yield "worst", _worst(summary, worst[0])
    if everywhere.noise_ns and everywhere.sources:
        top = max(everywhere.sources, key=lambda one: one.net_ns)
        share = 100 * top.net_ns / everywhere.noise_ns
        yield "top source", f"{label_of(top.source)}: {share:.1f} % of the noise"
    if diagnosis.findings:
        first = diagnosis.findings[0]
        rate = format_ns(first.cost_ns * _NS_PER_S / diagnosis.evidence.duration_ns)
        yield "top cause", printable(f"{first.cause}: {rate}/s")


def _noise(summary: Summary, everywhere: CpuSummary) -> str:
    time_ns = summary.duration_ns * len(summary.cpus)
    share = 100 * everywhere.noise_ns / time_ns if time_ns else 0.0
    count = sum(source.count for source in everywhere.sources)
    return (
        f"{share:.4f} % of the CPU time: {format_ns(everywhere.noise_ns)} in "
        f"{format_ns(summary.duration_ns)}, {count} interruptions"
    )


def _worst(summary: Summary, one: WorstInterruption) -> str:
    at_s = (one.interval.start_ns - summary.start_ns) / _NS_PER_S
    text = f"{format_ns(one.interval.noise_ns)} on CPU {one.interval.cpu} at {at_s:.6f} s"
    if not one.parts:
        return text
    largest: Part = max(one.parts, key=lambda part: part.net_ns)
    return f"{text}, mostly {label_of(largest.source)} ({format_ns(largest.net_ns)})"
