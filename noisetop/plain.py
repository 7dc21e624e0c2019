"""The live figures as plain text, one block per interval, or as one JSON object per line."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from datetime import datetime
from typing import TextIO

from noisetop.absence import describe_absences
from noisetop.apart import TABLES
from noisetop.columns import (
    ALWAYS_SHOWN,
    CPU,
    CPU_FIGURES,
    CPU_IDLE,
    SOURCE,
    SOURCE_BY,
    SOURCE_CPU,
    SOURCE_FIGURES,
    Column,
    CpuRow,
    SourceRow,
    aligned,
    class_columns,
    cpu_row,
    source_rows,
)
from noisetop.hardware_figures import brief_line
from noisetop.live import Feed, Sample
from noisetop.losses import describe_losses
from noisetop.report_json import summary_as_dict
from noisetop.sanitize import printable
from noisetop.summary import Summary
from noisetop.tick import tick_lines
from noisetop.units import format_ns

_CPU_COLUMNS: tuple[Column[CpuRow], ...] = (
    CPU,
    *CPU_FIGURES,
    CPU_IDLE,
    *(column for name in ALWAYS_SHOWN for column in class_columns(name)),
)
# The path comes last: it is the only column without a bound.
_SOURCE_COLUMNS: tuple[Column[SourceRow], ...] = (
    SOURCE_CPU,
    *SOURCE_FIGURES,
    SOURCE_BY,
    SOURCE,
)


def run_plain(feed: Feed, out: TextIO, *, count: int | None, json_lines: bool) -> None:
    """Prints a block per interval until ``count`` of them, the end of the feed, or a closed pipe.

    Errors of the feed pass through.
    """
    if isinstance(out, io.TextIOWrapper):
        out.reconfigure(errors="backslashreplace")  # a locale without µ must not end the run
    printed = 0
    while count is None or printed < count:
        sample = feed.next()
        now = datetime.now()
        try:
            out.write(json_line(sample) if json_lines else text_block(feed.title, sample, now))
            out.flush()
        except BrokenPipeError:
            return
        printed += 1
        if sample.ended:
            return


def json_line(sample: Sample) -> str:
    """The interval as one line of JSON; ``time_ns`` is its end, CLOCK_MONOTONIC."""
    line: dict[str, object] = {"time_ns": sample.interval.end_ns}
    line |= summary_as_dict(sample.interval)
    if sample.ended:
        line["ended"] = sample.ended
    # json escapes all control characters but this one.
    return json.dumps(line, separators=(",", ":")).replace("\x7f", "\\u007f") + "\n"


def text_block(title: str, sample: Sample, now: datetime) -> str:
    """The interval as text, every line ended."""
    interval = sample.interval
    ticks = tick_lines((cpu.cpu, cpu.tick_stops) for cpu in interval.cpus)
    lines = [_head(title, sample, now), *_cpu_lines(interval), *ticks, ""]
    lines += [*_source_lines(interval), *_apart_lines(interval)]
    if hardware := brief_line(interval.hardware, interval.duration_ns):
        lines += ["", f"hardware: {printable(hardware)}"]
    if sample.ended:
        lines.append(f"ended: {printable(sample.ended)}")
    return "\n".join(lines) + "\n\n"


def _head(title: str, sample: Sample, now: datetime) -> str:
    elapsed_s = sample.total.duration_ns / 1e9
    offline = describe_absences(sample.interval.absences)
    return (
        f"{now:%Y-%m-%d %H:%M:%S}  {printable(title)}  elapsed {elapsed_s:.3f} s"
        f"  interval {format_ns(sample.interval.duration_ns)}"
        f"  {describe_losses(sample.total.losses)}{'  ' if offline else ''}{offline}"
    )


def _cpu_lines(summary: Summary) -> Iterable[str]:
    rows = [cpu_row(summary, cpu) for cpu in summary.cpus]
    if len(rows) > 1:
        rows.append(cpu_row(summary, summary.all_cpus()))
    return aligned(_CPU_COLUMNS, rows)


def _source_lines(summary: Summary) -> Iterable[str]:
    rows = [row for cpu in summary.cpus for row in source_rows(summary, cpu) if row.source.count]
    rows.sort(key=lambda row: (-row.source.net_ns, row.cpu, row.label))
    return aligned(_SOURCE_COLUMNS, rows)


def _apart_lines(summary: Summary) -> Iterable[str]:
    for table in TABLES:
        if lines := list(table.lines(summary, summary.cpus, tell_cpu=True)):
            yield from ("", table.title, *lines)
