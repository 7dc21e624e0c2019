"""The report of a recording as text: verdict, description, then tables and a histogram."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from noisetop.columns.noise import (
    CPU,
    CPU_CONTENTION,
    CPU_COST,
    CPU_FIGURES,
    CPU_IDLE,
    CPU_SELF,
    MAX_SINGLE_AT,
    SOURCE,
    SOURCE_COST,
    SOURCE_FIGURES,
    SOURCE_IDLE,
    SOURCE_ORIGIN,
    SourceRow,
    class_columns,
    cpu_row,
    source_rows,
)
from noisetop.columns.side_tables import side_tables, table_lines
from noisetop.columns.tasks import TaskNamer
from noisetop.columns.victims import TITLE, cpu_victim_words, shown_victims, victim_lines
from noisetop.counters.losses import LossesSection
from noisetop.counters.section import sections
from noisetop.diagnosis import Diagnosis
from noisetop.diagnosis.brief import brief_lines
from noisetop.errors import UsageError
from noisetop.events.interruption import in_class_order
from noisetop.limits.outcome import Outcome
from noisetop.recording.recording import Recording
from noisetop.report.causes import (
    by_lines,
    part_text,
    short_lived_lines,
    wait_lines,
    who_lines,
)
from noisetop.report.moment import moment_rows
from noisetop.report.processes import process_lines
from noisetop.report.stacks import (
    StackRow,
    functions_lines,
    kernel_stack,
    stack_lines,
    stacks_lines,
    victim_stack,
)
from noisetop.report.verdict import verdict_rows
from noisetop.summary.summary import SourceSummary, Summary
from noisetop.summary.worst import WorstInterruption
from noisetop.tables.histogram import by_octave
from noisetop.text.column import aligned
from noisetop.text.cpu_list import format_cpu_list
from noisetop.text.layout import fit, fold_empty_rows
from noisetop.text.sanitize import printable
from noisetop.text.styled import heading
from noisetop.text.units import format_ns

_BAR_WIDTH = 40
_CAUSES = 3
_STACKS = 3
_NS_PER_S = 1_000_000_000
_TITLE = 11
"""Cells of a title in the head."""
_LOSSES = LossesSection.head
_EMPTY_INDENT = " " * 3


@dataclass(frozen=True, slots=True)
class Report:
    """What a report is made of."""

    recording: Recording
    summary: Summary
    worst: tuple[WorstInterruption, ...]
    diagnosis: Diagnosis
    stacks: tuple[StackRow, ...] = ()
    """Of those who acted, most expensive first."""
    limits: tuple[Outcome, ...] = ()
    """What became of the limits, in the order in which they were given."""


def report_lines(
    report: Report, *, width: int, top: int, histogram_of: str, verbose: bool = False
) -> Iterator[str]:
    """The report, line by line. Lines stay within ``width`` cells where the figures allow.

    ``top``: how many sources; ``histogram_of``: part of the path of the sources to count, all if
    empty; ``verbose``: also command lines. Raises UsageError when no source has it.
    """
    histogram = _histogram_lines(report.summary, histogram_of)
    yield from _head_lines(report, width)
    yield from fit(_body_lines(report, width, top, histogram_of, histogram), width)
    if verbose:
        processes = process_lines(report.summary, report.worst)
        yield from fit(_section("Processes", processes), width)


def _body_lines(
    report: Report, width: int, top: int, histogram_of: str, histogram: Iterable[str]
) -> Iterator[str]:
    yield from _section(TITLE, victim_lines(shown_victims(report.summary, top)))
    yield from _section("CPUs", _cpu_lines(report.summary))
    yield from _section("Sources", _source_lines(report.summary, top, width))
    yield from _section("Triggers", who_lines(report.summary, top))
    yield from _section("Causes (details: noisetop diagnose)", _cause_lines(report, width))
    yield from _section("Stacks of triggers", _stacks_lines(report, top, width))
    yield from _section("Short-lived tasks", short_lived_lines(report.summary, top))
    yield from _section("Waits: runnable, not running", wait_lines(report.summary, top, width))
    everywhere = (report.summary.all_cpus(),)
    for table in side_tables(report.summary):
        yield from _section(table.title, table_lines(table, report.summary, everywhere))
    yield from _section("Longest interruptions", _worst_lines(report, width))
    yield from _section(f"Net time per interruption, {histogram_of or 'all sources'}", histogram)
    for section in sections():
        value = report.summary.counters.of(section)
        yield from _section(section.title, section.lines(value, report.summary.start_ns))
    yield from _section("On idle CPUs: no task was delayed", _idle_lines(report, top))


def _cause_lines(report: Report, width: int) -> Iterator[str]:
    return brief_lines(report.diagnosis, top=_CAUSES, width=width)


def _stacks_lines(report: Report, top: int, width: int) -> Iterator[str]:
    return stacks_lines(report.stacks, report.summary.directory, min(top, _STACKS), width)


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    body = list(lines)
    if body:
        yield ""
        yield heading(printable(title))
        yield from body


def _head_lines(report: Report, width: int) -> Iterator[str]:
    recording, summary = report.recording, report.summary
    about = recording.metadata
    counted = _section_rows(summary)
    rows = [
        *moment_rows(recording),
        *verdict_rows(summary, report.worst, report.diagnosis),
        *(row for row in counted if row[0] == _LOSSES),
        ("", ""),
        ("recorded", _joined(about, "target", "started")),
        ("command", _joined(about, "command")),
        ("host", _joined(about, "host", "kernel", "machine")),
        ("duration", f"{format_ns(summary.duration_ns)}, {_events(summary)}"),
        ("part", _part(recording)),
        ("CPUs", _watched(recording)),
        ("victim", cpu_victim_words(summary.cpu_victims).partition(" ")[2]),
        *(row for row in counted if row[0] != _LOSSES),
        ("ended", printable(recording.ended)),
        ("damage", printable(recording.damage)),
    ]
    for title, text in rows:
        if text:
            yield from fit([f"{title:<{_TITLE}} {text}"], width, _TITLE + 1)
        elif not title:
            yield ""


def _section_rows(summary: Summary) -> list[tuple[str, str]]:
    return [
        (section.head, section.brief(summary.counters.of(section), summary.duration_ns).text)
        for section in sections()
        if section.head
    ]


def _joined(about: dict[str, object], *keys: str) -> str:
    return printable("  ".join(str(about[key]) for key in keys if about.get(key)))


def _events(summary: Summary) -> str:
    sources = [source for cpu in summary.cpus for source in cpu.sources]
    noise = sum(source.count for source in sources)
    idle = sum(source.idle_count for source in sources)
    return f"{noise} interruptions, {idle} events on idle CPUs"


def _part(recording: Recording) -> str:
    if recording.whole is None:
        return ""
    whole = recording.whole
    first, last = (
        f"{(ns - whole.start_ns) / _NS_PER_S:.3f} s"
        for ns in (recording.start_ns, recording.end_ns)
    )
    return (
        f"{first} to {last} of {format_ns(whole.duration_ns)}; where the time of victims went is "
        "only known of the whole"
    )


def _watched(recording: Recording) -> str:
    about = recording.metadata
    isolation = [
        f"{name} {printable(str(about[name]))}"
        for name in ("isolated", "nohz_full")
        if about.get(name)
    ]
    return "; ".join([f"{format_cpu_list(recording.cpus)} watched", *isolation])


def _cpu_lines(summary: Summary) -> Iterator[str]:
    rows = [cpu_row(summary, cpu) for cpu in summary.cpus]
    if len(rows) > 1:
        rows.append(cpu_row(summary, summary.all_cpus()))
    columns = (CPU, CPU_COST, *CPU_FIGURES, MAX_SINGLE_AT, CPU_SELF, CPU_CONTENTION, CPU_IDLE)
    told = [one for one in columns if one is not CPU_CONTENTION or any(map(one.value, rows))]
    yield from aligned(told, rows)
    present = in_class_order(name for row in rows for name in row.classes)
    if present:
        yield ""
        yield from aligned((CPU, *(class_columns(name)[1] for name in present)), rows)


def _source_lines(summary: Summary, top: int, width: int) -> Iterator[str]:
    """Figures and path in one line where that fits for all, else the path above its figures."""
    rows = [row for row in source_rows(summary, summary.all_cpus()) if row.source.count]
    shown, namer = rows[:top], TaskNamer(summary)
    columns = (SOURCE_COST, *SOURCE_FIGURES, SOURCE_ORIGIN)
    lines = list(aligned((*columns, SOURCE), shown))
    fits = max(map(len, lines)) <= width
    header, *figures = lines if fits else aligned(columns, shown)
    yield from [header] if fits else [SOURCE.title, header]
    for row, line in zip(shown, figures, strict=True):
        yield from [line] if fits else [row.label, line]
        yield from by_lines(row, namer, width)
    if rest := rows[top:]:
        net = format_ns(sum(row.source.net_ns for row in rest))
        yield f"and {len(rest)} more with {net} net in total: --top {len(rows)}"


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
        yield f"and {len(rest)} more with {net} in total"


def _worst_lines(report: Report, width: int) -> Iterator[str]:
    namer = TaskNamer(report.summary)
    for number, one in enumerate(report.worst, 1):
        interval = one.interval
        moment_s = (interval.start_ns - report.summary.start_ns) / _NS_PER_S
        yield (
            f"{number:>2}  {format_ns(interval.noise_ns)} on CPU {interval.cpu}"
            f" at {moment_s:.6f} s, victim {namer.name(one.victim_tid)}"
        )
        yield from functions_lines("in", victim_stack(report.recording, one), width)
        above: list[str] = []
        for part in one.parts:
            after = format_ns(part.start_ns - interval.start_ns)
            what = "  " * part.depth + part_text(part, namer)
            yield f"    +{after:<8} {format_ns(part.net_ns):>8}  {what}"
            kernel = kernel_stack(report.recording, part.trigger)
            stack = stack_lines(kernel, report.recording.user_stack_of(part.trigger), width)
            if stack != above:  # what interrupts and what that runs have one trigger
                yield from stack
            above = stack or above
        if one.more_count:
            yield f"    {'':<9} {format_ns(one.more_ns):>8}  in {one.more_count} more"


def _histogram_lines(summary: Summary, wanted: str) -> list[str]:
    """A row for each power of two from the smallest to the largest that occurred."""
    chosen = [one for one in summary.all_cpus().sources if one.count and _is_wanted(one, wanted)]
    if wanted and not chosen:
        raise UsageError(
            f"no source has '{printable(wanted)}' in its path: see the list of sources"
        )
    if not chosen:
        return []
    counts = by_octave(np.sum([one.histogram for one in chosen], axis=0))
    present = np.flatnonzero(counts)
    largest = int(counts.max())
    rows = []
    for octave in range(int(present[0]), int(present[-1]) + 1):
        count = int(counts[octave])
        bar = "#" * -(-count * _BAR_WIDTH // largest)
        low = 1 << octave if octave else 0
        line = f"{format_ns(low):>8} … {format_ns(2 << octave):<8} {count:>9} {bar}".rstrip()
        rows.append((not count, line))
    return list(fold_empty_rows(rows, _EMPTY_INDENT))


def _is_wanted(one: SourceSummary, wanted: str) -> bool:
    return wanted.lower() in one.source.label.lower()
