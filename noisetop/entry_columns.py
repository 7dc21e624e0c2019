"""The figures of entries into the kernel, wherever they are shown."""

from __future__ import annotations

from noisetop.columns import SOURCE_CPU, SOURCE_FIGURES, Column, SourceRow
from noisetop.sanitize import printable
from noisetop.summary import CpuSummary, Summary

TITLE = "Entries into the kernel: what is around the noise, no part of it"

_KINDS = {
    "interruption": "around noise",
    "page_fault": "page fault",
    "other": "nothing seen",
}


def entry_rows(summary: Summary, cpu: CpuSummary) -> list[SourceRow]:
    """A row for each kind that occurred on one CPU of a summary, or on its ``all_cpus()``."""
    return [
        SourceRow(
            one, cpu.cpu, _kind(one.source.path[-1]), summary.start_ns, summary.duration_ns, 0
        )
        for one in cpu.entries
    ]


def _kind(step: str) -> str:
    return _KINDS.get(step) or printable(step)


ENTRY: Column[SourceRow] = Column(
    "kind", "Entry", "", 12, lambda row: row.label, str,
    "around noise: entering and leaving for it; page fault; nothing seen: no system call either",
    left=True,
)  # fmt: skip
ENTRY_CPU = SOURCE_CPU
ENTRY_FIGURES = tuple(column for column in SOURCE_FIGURES if column.name != "share_percent")
