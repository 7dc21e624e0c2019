"""The report of a recording as text: what it is, then CPUs, sources, worst moments, a histogram."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from noisetop.absence import absence_lines, describe_absences
from noisetop.apart import TABLES
from noisetop.columns import (
    CPU,
    CPU_FIGURES,
    CPU_IDLE,
    MAX_SINGLE_AT,
    SOURCE,
    SOURCE_FIGURES,
    SOURCE_IDLE,
    SourceRow,
    aligned,
    class_columns,
    cpu_row,
    label_of,
    source_rows,
)
from noisetop.diagnosis import Diagnosis
from noisetop.diagnosis.brief import brief_lines
from noisetop.errors import UsageError
from noisetop.event import CLASSES
from noisetop.hardware_figures import hardware_lines
from noisetop.histogram import Counts, edges_ns
from noisetop.losses import describe_losses
from noisetop.recording import Recording
from noisetop.report_causes import by_line, by_trigger, stack_lines, wait_lines, who_lines
from noisetop.sanitize import printable
from noisetop.summary import OwnCost, SourceSummary, Summary
from noisetop.system import format_cpu_list
from noisetop.tick import tick_lines
from noisetop.units import format_count, format_ns
from noisetop.worst import WorstInterruption

_BAR_WIDTH = 40
_CAUSES = 3
_NS_PER_S = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Report:
    """What a report is made of."""

    recording: Recording
    summary: Summary
    worst: tuple[WorstInterruption, ...]
    diagnosis: Diagnosis


def report_lines(report: Report, *, width: int, top: int, histogram_of: str) -> Iterator[str]:
    """The report, line by line. Lines stay within ``width`` cells where the figures allow.

    ``top``: how many sources; ``histogram_of``: part of the path of the sources to count, all if
    empty. Raises UsageError when no source has it.
    """
    histogram = _histogram_lines(report.summary, histogram_of)
    yield from _head_lines(report.recording, report.summary)
    yield from _section("CPUs", _cpu_lines(report.summary))
    yield from _section(
        "CPUs that were offline: nothing is known of them then", _absent(report.summary)
    )
    yield from _section("Sources", _source_lines(report.summary, top, width))
    yield from _section("Who did it", who_lines(report.summary, top))
    yield from _section("Causes, see also noisetop diagnose", _cause_lines(report, width))
    yield from _section("Victims that could not run", wait_lines(report.summary, top))
    for table in TABLES:
        everywhere = (report.summary.all_cpus(),)
        yield from _section(table.title, table.lines(report.summary, everywhere))
    yield from _section("Longest interruptions", _worst_lines(report, width))
    yield from _section(f"Net time per interruption, {histogram_of or 'all sources'}", histogram)
    ticks = tick_lines((cpu.cpu, cpu.tick_stops) for cpu in report.summary.cpus)
    yield from _section("Attempts to stop the tick", ticks)
    yield from _section("What the hardware admits", _hardware_lines(report.summary))
    yield from _section("On an idle CPU: no noise, nobody lost time", _idle_lines(report, top))


def _cause_lines(report: Report, width: int) -> Iterator[str]:
    return brief_lines(report.diagnosis, top=_CAUSES, width=width)


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    body = list(lines)
    if body:
        yield ""
        yield printable(title)
        yield from body


def _head_lines(recording: Recording, summary: Summary) -> Iterator[str]:
    about = recording.metadata
    rows = [
        ("recorded", _told(about, "target", "started")),
        ("command", _told(about, "command")),
        ("host", _told(about, "host", "kernel", "machine")),
        ("duration", f"{format_ns(summary.duration_ns)}, {_events(summary)}"),
        ("CPUs", _watched(recording)),
        ("offline", describe_absences(summary.absences)),
        ("losses", describe_losses(summary.losses)),
        ("not seen", _missing(summary)),
        ("own cost", _own_cost(summary.own_cost, summary.duration_ns)),
        ("ended", printable(recording.ended)),
        ("damage", printable(recording.damage)),
    ]
    for title, text in rows:
        if text:
            yield f"{title:<9} {text}"


def _absent(summary: Summary) -> Iterator[str]:
    return absence_lines(summary.absences, summary.start_ns)


def _told(about: dict[str, object], *keys: str) -> str:
    return printable("  ".join(str(about[key]) for key in keys if about.get(key)))


def _events(summary: Summary) -> str:
    sources = [source for cpu in summary.cpus for source in cpu.sources]
    noise = sum(source.count for source in sources)
    idle = sum(source.idle_count for source in sources)
    return f"{noise} interruptions and {idle} events on idle CPUs"


def _watched(recording: Recording) -> str:
    about = recording.metadata
    isolation = [
        f"{name} {printable(str(about[name]))}"
        for name in ("isolated", "nohz_full")
        if about.get(name)
    ]
    return "; ".join([f"{format_cpu_list(recording.cpus)} watched", *isolation])


def _hardware_lines(summary: Summary) -> list[str]:
    """Steal, throttling, machine checks and the like; no noise of any source above."""
    missing = [f"not told: {line}" for line in summary.missing_hardware]
    return [printable(line) for line in (*hardware_lines(summary.hardware), *missing)]


def _missing(summary: Summary) -> str:
    return "this kernel lacks " + printable(", ".join(summary.missing)) if summary.missing else ""


def _own_cost(cost: OwnCost, duration_ns: int) -> str:
    if not (cost.cpu_ns or cost.records):
        return "not known"
    share = 100 * cost.cpu_ns / duration_ns if duration_ns else 0.0
    parts = [f"{format_ns(cost.cpu_ns)} CPU time ({share:.2f} %), {cost.wakeups} wake-ups"]
    parts.append(f"on CPU {printable(cost.housekeeping)}" if cost.housekeeping else "on any CPU")
    if cost.bpf_ns is not None:
        each = f"{cost.bpf_ns_per_record:.0f} ns for each of {format_count(cost.records)} records"
        parts.append(f"BPF on all CPUs about {format_ns(cost.bpf_ns)} ({each}, when it began)")
    return ", ".join(parts)


def _cpu_lines(summary: Summary) -> Iterator[str]:
    rows = [cpu_row(summary, cpu) for cpu in summary.cpus]
    if len(rows) > 1:
        rows.append(cpu_row(summary, summary.all_cpus()))
    yield from aligned((CPU, *CPU_FIGURES, MAX_SINGLE_AT, CPU_IDLE), rows)
    present = [name for name in CLASSES if any(name in row.classes for row in rows)]
    if present:
        yield ""
        yield from aligned((CPU, *(class_columns(name)[1] for name in present)), rows)


def _source_lines(summary: Summary, top: int, width: int) -> Iterator[str]:
    """Figures and path in one line where that fits for all, else the path above its figures."""
    rows = [row for row in source_rows(summary, summary.all_cpus()) if row.source.count]
    shown = rows[:top]
    lines = list(aligned((*SOURCE_FIGURES, SOURCE), shown))
    fits = max(map(len, lines)) <= width
    header, *figures = lines if fits else aligned(SOURCE_FIGURES, shown)
    yield from [header] if fits else [SOURCE.title, header]
    for row, line in zip(shown, figures, strict=True):
        yield from [line] if fits else [row.label, line]
        yield from by_line(row, width)
    if rest := rows[top:]:
        net = format_ns(sum(row.source.net_ns for row in rest))
        yield f"and {len(rest)} more with {net} together: --top {len(rows)}"


def _idle_lines(report: Report, top: int) -> Iterator[str]:
    rows = source_rows(report.summary, report.summary.all_cpus())
    idle = [row for row in rows if row.source.idle_count]
    idle.sort(key=lambda row: (-row.source.idle_ns, row.label))
    if idle:
        yield from aligned((*SOURCE_IDLE, SOURCE), idle[:top])
        yield from _more_idle(idle[top:])


def _more_idle(rest: Sequence[SourceRow]) -> Iterator[str]:
    if rest:
        net = format_ns(sum(row.source.idle_ns for row in rest))
        yield f"and {len(rest)} more with {net} together"


def _worst_lines(report: Report, width: int) -> Iterator[str]:
    for number, one in enumerate(report.worst, 1):
        stretch = one.stretch
        moment_s = (stretch.start_ns - report.summary.start_ns) / _NS_PER_S
        name = report.summary.tasks.get(one.victim_tid, "")
        yield (
            f"{number:>2}  {format_ns(stretch.noise_ns)} on CPU {stretch.cpu} at {moment_s:.6f} s,"
            f" taken from {printable(f'{name} {one.victim_tid}'.strip())}"
        )
        told: list[str] = []
        for part in one.parts:
            after = format_ns(part.start_ns - stretch.start_ns)
            what = "  " * part.depth + label_of(part.source) + by_trigger(part.trigger)
            yield f"    +{after:<8} {format_ns(part.net_ns):>8}  {what}"
            stack = stack_lines(report.recording, part.trigger, width)
            if stack != told:  # what interrupts and what that runs have one trigger
                yield from stack
            told = stack or told
        if one.more_count:
            yield f"    {'':<9} {format_ns(one.more_ns):>8}  in {one.more_count} smaller ones"


def _histogram_lines(summary: Summary, wanted: str) -> list[str]:
    """A row for each power of two from the smallest to the largest that occurred."""
    chosen = [one for one in summary.all_cpus().sources if one.count and _is_wanted(one, wanted)]
    if wanted and not chosen:
        raise UsageError(
            f"no source has '{printable(wanted)}' in its path: see the list of sources"
        )
    if not chosen:
        return []
    counts = _by_octave(np.sum([one.histogram for one in chosen], axis=0))
    present = np.flatnonzero(counts)
    largest = int(counts.max())
    lines = []
    for octave in range(int(present[0]), int(present[-1]) + 1):
        count = int(counts[octave])
        bar = "#" * -(-count * _BAR_WIDTH // largest)
        low = 1 << octave if octave else 0
        lines.append(f"{format_ns(low):>8} … {format_ns(2 << octave):<8} {count:>9} {bar}".rstrip())
    return lines


def _is_wanted(one: SourceSummary, wanted: str) -> bool:
    return wanted.lower() in one.source.label.lower()


def _by_octave(histogram: Counts) -> Counts:
    """Counts by the power of two at or below the duration; the first row begins at 0."""
    lower = np.maximum(edges_ns()[:-1], 1)
    octaves = np.frexp(lower.astype(np.float64))[1] - 1
    return np.bincount(octaves, histogram).astype(np.int64)
