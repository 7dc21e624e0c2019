"""Probe results as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from noisetop.gaps.charts import cpu_name
from noisetop.gaps.numa_report import numa_lines
from noisetop.gaps.result import (
    CpuSpin,
    EntryCostResult,
    Explained,
    LongGap,
    LostPart,
    OutsideResult,
    ProbeResult,
    SpinResult,
)
from noisetop.gaps.switch_report import switch_lines
from noisetop.text.layout import fold_empty_rows, table_lines
from noisetop.text.sanitize import printable
from noisetop.text.styled import heading
from noisetop.text.units import format_count, format_ns

_BAR_WIDTH = 40
_SOURCES = 15
_NS_PER_S = 1_000_000_000


def report_lines(result: ProbeResult) -> Iterator[str]:
    """The result, line by line, fit for a terminal."""
    if result.switch:
        yield from switch_lines(result.switch)
    if result.numa:
        yield from numa_lines(result.numa)
    if len(result.spin) > 1:
        yield from _side_by_side(result.spin)
    for run in result.spin:
        yield from _run_lines(run, several=len(result.spin) > 1)


def _side_by_side(runs: list[SpinResult]) -> Iterator[str]:
    percentiles = ("p50", "p99", "p99.99")
    rows: list[tuple[str, ...]] = [("busy", "CPU", "gaps/s", "lost", *percentiles, "max")]
    for run in runs:
        for cpu in run.cpus:
            per_s = cpu.gaps * _NS_PER_S / cpu.active_ns if cpu.active_ns else 0.0
            figures = [cpu.percentiles_ns[p] for p in percentiles] + [cpu.max_ns]
            rows.append(
                (
                    f"{run.busy_percent} %",
                    cpu_name(cpu),
                    format_count(per_s),
                    f"{100 * cpu.lost_share:.4f} %",
                    *map(format_ns, figures),
                )
            )
    yield from table_lines(rows)


def _run_lines(run: SpinResult, *, several: bool) -> Iterator[str]:
    for cpu in run.cpus:
        yield ""
        busy = f", busy {run.busy_percent} %" if several or run.busy_percent < 100 else ""
        yield heading(f"{cpu_name(cpu)}{busy}: spun for {format_ns(cpu.active_ns)}")
        yield from _figures(run, cpu)
        yield from _longest("Longest gaps", cpu.longest, cpu.start_ns)
        yield from _histogram(cpu)
        yield from _periods(cpu)
        if cpu.explained:
            yield from _explained(cpu, cpu.explained)
        else:
            yield from _counted(cpu)
    for missing in run.missing:
        yield printable(f"  {missing}")


def _figures(run: SpinResult, cpu: CpuSpin) -> Iterator[str]:
    yield (
        f"  loop cost {cpu.loop_cost_ns:.1f} ns, resolution {cpu.resolution_ns:.1f} ns, "
        f"threshold {cpu.threshold_ns:.1f} ns, {format_count(cpu.loops)} loops"
    )
    offset = run.clock.cpu_offset_ns
    between = f", offset between CPUs up to {format_ns(offset)}" if offset else ""
    exact = f"±{run.clock.uncertainty_ns:.0f} ns{between}"
    yield f"  clock: {run.clock.ticks_per_ns:.6f} ticks/ns, {exact}"
    yield (
        f"  {cpu.gaps} gaps, lost {format_ns(cpu.lost_ns)} = {100 * cpu.lost_share:.4f} % "
        f"of the time"
    )
    if cpu.unstored_gaps:
        yield (
            f"  {cpu.unstored_gaps} gaps exceeded the buffer: their {format_ns(cpu.unstored_ns)} "
            "count in the totals only; raise -T"
        )
    rows = {"min": cpu.min_ns, **cpu.percentiles_ns, "max": cpu.max_ns}
    yield printable("  " + "  ".join(f"{name} {format_ns(ns)}" for name, ns in rows.items()))
    if cpu.regular:
        yield (
            f"  periodic: every {format_ns(cpu.regular.period_ns)} "
            f"({1e9 / cpu.regular.period_ns:.1f} Hz), median cost "
            f"{format_ns(cpu.regular.cost_ns)}, {cpu.regular.count} times"
        )
    yield (
        f"  context switches: {cpu.involuntary_switches} involuntary, "
        f"{cpu.voluntary_switches} voluntary; waited on the run queue for "
        f"{format_ns(cpu.run_delay_ns)}; {cpu.page_faults} page faults; "
        f"steal {format_ns(cpu.steal_ns)}; SMIs {'not counted' if run.smi is None else run.smi}"
    )
    if cpu.throttled_ns:
        yield (
            f"  its cgroup was throttled for {format_ns(cpu.throttled_ns)}: threads that ran in "
            "that time are not counted"
        )


def _parts_text(parts: Iterable[LostPart]) -> str:
    return ", ".join(f"{part.label} {format_ns(part.net_ns)}" for part in parts)


def _longest(title: str, gaps: list[LongGap], start_ns: int) -> Iterator[str]:
    if gaps:
        yield heading(f"  {title}")
    for gap in gaps:
        left = gap.unexplained_ns
        parts = _parts_text(gap.parts[:4])
        if left is not None:
            parts = f"unexplained {format_ns(left)}{'; ' + parts if parts else ''}"
        when = (gap.start_ns - start_ns) / _NS_PER_S
        yield printable(f"    {format_ns(gap.length_ns):>8} at {when:.6f} s  {parts}".rstrip())


def _histogram(cpu: CpuSpin) -> Iterator[str]:
    filled = [i for i, bucket in enumerate(cpu.buckets) if bucket.count]
    if not filled:
        return
    yield "  Gaps per CPU-hour"
    most = max(bucket.count for bucket in cpu.buckets)
    rows = []
    for bucket in cpu.buckets[filled[0] : filled[-1] + 1]:
        bar = "█" * -(-bucket.count * _BAR_WIDTH // most)
        rate = format_count(bucket.per_cpu_hour)
        line = f"    from {format_ns(bucket.from_ns):>7}  {rate:>6}  {bar}".rstrip()
        rows.append((not bucket.count, line))
    yield from fold_empty_rows(rows, "    ")


def _periods(cpu: CpuSpin) -> Iterator[str]:
    if cpu.stretches:
        yield "  Active and inactive periods"
    for i, one in enumerate(cpu.stretches):
        name = "active" if one.active else "inactive"
        at = (one.start_ns - cpu.start_ns) / _NS_PER_S
        yield f"    {i:>4} {name:<8} from {at:.9f} s for {format_ns(one.length_ns)}"


def _explained(cpu: CpuSpin, one: Explained) -> Iterator[str]:
    yield (
        f"  explained {100 * (cpu.explained_share or 0):.2f} % of the lost time, "
        f"{100 * one.explained_share_above_1us:.2f} % of that in gaps from 1 µs "
        f"({format_ns(one.lost_above_1us_ns)})"
    )
    if one.outside:
        yield (
            f"  {100 * one.with_outside_share_above_1us:.2f} % of that including time of the "
            "hypervisor or firmware, inferred"
        )
    events = [part for part in cpu.parts if part.kind == "event"]
    rest = [part for part in cpu.parts if part.kind != "event"]
    yield from _part_lines(events[:_SOURCES], cpu.lost_ns, "")
    if len(events) > _SOURCES:
        left = sum(part.net_ns for part in events[_SOURCES:])
        yield f"    {format_ns(left):>8}  {len(events) - _SOURCES} more sources"
    yield from _part_lines(rest, cpu.lost_ns, "entry and exit of ")
    left = cpu.unexplained_ns or 0
    yield f"    {format_ns(left):>8}  {_share(left, cpu)}  unexplained"
    yield from _unexplained(one)
    yield from _costs(one.entry_costs)
    yield from _longest("Worst unexplained gaps", one.worst_unexplained, cpu.start_ns)


def _share(part_ns: int, cpu: CpuSpin) -> str:
    return f"{100 * part_ns / cpu.lost_ns if cpu.lost_ns else 0.0:>6.2f} %"


def _part_lines(parts: list[LostPart], lost_ns: int, entering: str) -> Iterator[str]:
    for part in parts:
        share = 100 * part.net_ns / lost_ns if lost_ns else 0.0
        name = entering + part.label if part.kind == "entry" else part.label
        yield printable(
            f"    {format_ns(part.net_ns):>8}  {share:>6.2f} %  {name}  ({_times(part.count)})"
        )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _unexplained(one: Explained) -> Iterator[str]:
    if one.unreported_wait_ns:
        yield (
            f"      of which {format_ns(one.unreported_wait_ns)} waiting on the run queue by "
            f"schedstat, without an event ({one.unreported_switches} context switches unreported)"
        )
    if one.outside:
        yield from _outside(one.outside)
    if one.lost_events:
        yield f"      the tracer dropped {one.lost_events} events: their time is included here"
    if one.excess_ns:
        yield (
            f"      events exceed their gaps by {format_ns(one.excess_ns)}: "
            "this is a defect of noisetop"
        )
    if one.outside_count:
        yield (
            f"      {one.outside_count} interruptions of {format_ns(one.outside_ns)} are in no "
            "gap: at an edge of the run, below the threshold, or extended by an unreported "
            "context switch"
        )


def _outside(one: OutsideResult) -> Iterator[str]:
    if one.regular:
        yield (
            f"      of which {format_ns(one.regular_ns)} in {one.regular_gaps} gaps without an "
            f"event, one every {format_ns(one.regular.period_ns)}, median "
            f"{format_ns(one.regular.cost_ns)}: on a guest usually the host's tick"
        )
    if one.irregular_ns:
        yield (
            f"      of which {format_ns(one.irregular_ns)} in {one.irregular_gaps} gaps without an "
            "event, not periodic"
        )
    if one.before_ns:
        yield (
            f"      of which {format_ns(one.before_ns)} before the first event of "
            f"{one.before_gaps} gaps, beyond the entry cost"
        )
    if one.interrupts_counted:
        yield (
            "      hypervisor or firmware, inferred: this kernel counted "
            f"{one.interrupts_counted} interrupts and the trace has {one.interrupts_traced}, "
            "so it ran nothing in these gaps"
        )


def _costs(costs: list[EntryCostResult]) -> Iterator[str]:
    if costs:
        yield "  Cost of entry and exit, median of gaps with one such interrupt and nothing else"
    for cost in costs:
        yield printable(
            f"    {format_ns(cost.p50_ns):>8}  {cost.kind}  ({cost.gaps} gaps; "
            f"{format_ns(cost.before_p50_ns)} before the first event, "
            f"{format_ns(cost.after_p50_ns)} after the last)"
        )


def _counted(cpu: CpuSpin) -> Iterator[str]:
    for title, rows in (("Interrupts", cpu.interrupts), ("Softirqs", cpu.softirqs)):
        counts = ", ".join(f"{name} {count}" for name, count in rows.items())
        if counts:
            yield printable(f"  {title} counted in this time: {counts}")
