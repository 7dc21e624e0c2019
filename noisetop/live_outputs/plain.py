"""The live figures as plain text, one block per interval."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TextIO

from noisetop.columns.noise import (
    ALWAYS_SHOWN,
    CPU,
    CPU_CONTENTION,
    CPU_COST,
    CPU_FIGURES,
    CPU_IDLE,
    CPU_SELF,
    SOURCE,
    SOURCE_BY,
    SOURCE_COST,
    SOURCE_CPU,
    SOURCE_FIGURES,
    SOURCE_ORIGIN,
    CpuRow,
    SourceRow,
    class_columns,
    cpu_row,
    source_rows,
)
from noisetop.columns.side_tables import side_tables, table_lines
from noisetop.columns.victims import cpu_victim_words
from noisetop.counters.section import sections
from noisetop.live.output import Default, LiveOutput, Option, Settings
from noisetop.live.sample import Feed, Sample
from noisetop.live.writer import write_samples
from noisetop.summary.summary import Summary
from noisetop.text.column import Column, aligned
from noisetop.text.sanitize import printable
from noisetop.text.units import format_ns

_CPU_COLUMNS: tuple[Column[CpuRow], ...] = (
    CPU,
    CPU_COST,
    *CPU_FIGURES,
    CPU_SELF,
    CPU_CONTENTION,
    CPU_IDLE,
    *(column for name in ALWAYS_SHOWN for column in class_columns(name)),
)
# The path comes last: it is the only column without a bound.
_SOURCE_COLUMNS: tuple[Column[SourceRow], ...] = (
    SOURCE_CPU,
    SOURCE_COST,
    *SOURCE_FIGURES,
    SOURCE_ORIGIN,
    SOURCE_BY,
    SOURCE,
)


def text_block(title: str, sample: Sample, now: datetime) -> str:
    """The interval as text, every line ended."""
    interval = sample.interval
    lines = [_head(title, sample, now), *_cpu_lines(interval), ""]
    lines += [*_source_lines(interval), *_side_lines(interval), *_section_lines(interval)]
    if sample.ended:
        lines.append(f"finished ({printable(sample.ended)})")
    return "\n".join(lines) + "\n\n"


def _head(title: str, sample: Sample, now: datetime) -> str:
    elapsed_s = sample.total.duration_ns / 1e9
    interval = sample.interval
    briefs = (one.text for one in interval.counters.status(interval.duration_ns))
    status = "  ".join(filter(None, (cpu_victim_words(interval.cpu_victims), *briefs)))
    return (
        f"{now:%Y-%m-%d %H:%M:%S}  {printable(title)}  elapsed {elapsed_s:.3f} s"
        f"  interval {format_ns(sample.interval.duration_ns)}"
        f"  {status}"
    )


def _cpu_lines(summary: Summary) -> Iterable[str]:
    rows = [cpu_row(summary, cpu) for cpu in summary.cpus]
    if len(rows) > 1:
        rows.append(cpu_row(summary, summary.all_cpus()))
    return aligned(_CPU_COLUMNS, rows)


def _source_lines(summary: Summary) -> Iterable[str]:
    rows = [row for cpu in summary.cpus for row in source_rows(summary, cpu) if row.source.count]
    rows.sort(key=lambda row: (not row.source.is_external, -row.source.rank_ns, row.cpu, row.label))
    return aligned(_SOURCE_COLUMNS, rows)


def _side_lines(summary: Summary) -> Iterable[str]:
    for table in side_tables(summary):
        if lines := list(table_lines(table, summary, summary.cpus, with_cpu=True)):
            yield from ("", table.title, *lines)


def _section_lines(summary: Summary) -> Iterable[str]:
    lines = [
        line
        for section in sections()
        for line in section.live_lines(summary.counters.of(section), summary.duration_ns)
    ]
    return ("", *lines) if lines else ()


def _run(feed: Feed, out: TextIO, _settings: Settings) -> None:
    def as_text(sample: Sample) -> str:
        return text_block(feed.title, sample, datetime.now())

    write_samples(feed, out, as_text)


OUTPUT = LiveOutput(
    _run, Option("--plain", "plain text on a terminal, too"), default=Default.NO_TERMINAL
)
