"""The first lines of a report: how much noise there was, its worst moment, top source and cause."""

from __future__ import annotations

from collections.abc import Iterator

from noisetop.columns.noise import label_of
from noisetop.diagnosis import Diagnosis
from noisetop.events.origin import Origin
from noisetop.summary.cpu_victim import CONTENTION
from noisetop.summary.summary import CpuSummary, Summary
from noisetop.summary.worst import Part, WorstInterruption, worst_external
from noisetop.text.column import percent
from noisetop.text.cpu_list import format_cpu_list
from noisetop.text.sanitize import printable
from noisetop.text.units import format_ns

_NS_PER_S = 1_000_000_000

Row = tuple[str, str]
"""Title and text of a line in the head of the report."""


def verdict_rows(
    summary: Summary, worst: tuple[WorstInterruption, ...], diagnosis: Diagnosis
) -> Iterator[Row]:
    """Contention that is nobody's, noise, worst interval, top source and top cause; the latter only
    where there is noise."""
    everywhere = summary.all_cpus()
    if words := _contention(summary, everywhere):
        yield "contention", words
    yield "noise", _noise(summary, everywhere)
    # The moment of a snapshot comes first, and need not be the worst.
    by_length = sorted(worst, key=lambda one: -one.interval.noise_ns)
    if one := worst_external(summary, by_length):
        yield "worst", _worst(summary, one)
    if own := everywhere.by_origin.get(Origin.SELF.label):
        yield "self", f"{format_ns(own)} net, self-inflicted, not counted above"
    if everywhere.external_ns and everywhere.external:
        top = everywhere.external[0]
        whole_ns = sum(one.rank_ns for one in everywhere.external)
        what = "noise" if top.cost_ns is None else "cost"
        share = 100 * top.rank_ns / whole_ns
        yield (
            "top source",
            f"{label_of(top.source)} ({top.origin.label}): {share:.1f} % of the {what}",
        )
    if diagnosis.findings:
        first = diagnosis.findings[0]
        rate = format_ns(first.cost_ns * _NS_PER_S / diagnosis.evidence.duration_ns)
        yield "top cause", printable(f"{first.cause}: {rate}/s")


def _noise(summary: Summary, everywhere: CpuSummary) -> str:
    time_ns = summary.duration_ns * len(summary.cpus)
    count = sum(source.count for source in everywhere.external)
    net_ns = everywhere.external_ns
    return (
        f"{_cost(summary, everywhere, time_ns)}{percent(net_ns, time_ns):.4f} % net of the CPU "
        f"time: {format_ns(net_ns)} in {format_ns(summary.duration_ns)}, {count} interruptions"
    )


def _contention(summary: Summary, everywhere: CpuSummary) -> str:
    ns = everywhere.aside_ns(CONTENTION)
    if not ns:
        return ""
    cpus = [one.cpu for one in summary.cpus if one.cpu is not None and one.aside_ns(CONTENTION)]
    time_ns = summary.duration_ns * len(cpus)
    return (
        f"{percent(ns, time_ns):.4f} % of the CPU time: tasks took turns for {format_ns(ns)} on "
        f"CPU {format_cpu_list(cpus)}, which nobody claims; --victim PID says whose it is"
    )


def _cost(summary: Summary, everywhere: CpuSummary, time_ns: int) -> str:
    """The estimate with its interval, where there is one."""
    cost_ns, spread = everywhere.external_cost_ns, everywhere.external_cost_range_ns
    if cost_ns is None or spread is None:
        return ""
    low, high = (percent(ns, time_ns) for ns in spread)
    cut = "; entries cost less here than calibrated: cut to the wall time"
    why = cut if any(one.is_cut for one in summary.cpus) else ""
    return f"≈{percent(cost_ns, time_ns):.4f} % lost ({low:.4f} to {high:.4f}{why}), "


def _worst(summary: Summary, one: WorstInterruption) -> str:
    at_s = (one.interval.start_ns - summary.start_ns) / _NS_PER_S
    text = f"{format_ns(one.interval.noise_ns)} on CPU {one.interval.cpu} at {at_s:.6f} s"
    if not one.parts:
        return text
    largest: Part = max(one.parts, key=lambda part: part.net_ns)
    return f"{text}, mostly {label_of(largest.source)} ({format_ns(largest.net_ns)})"
