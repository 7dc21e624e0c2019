"""The figures of entries into the kernel, wherever they are shown."""

from __future__ import annotations

from noisetop.columns.noise import SOURCE_CPU, SOURCE_FIGURES, SourceRow
from noisetop.columns.side_table import SideTable
from noisetop.events.interruption import ENTRY as ENTRY_CLASS
from noisetop.summary.summary import CpuSummary, SourceSummary, Summary
from noisetop.text.column import Column
from noisetop.text.sanitize import printable

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
        for one in cpu.side.get(ENTRY_CLASS, ())
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


def _stack(one: SourceSummary, cpu: str) -> tuple[str, ...]:
    return ("entries", cpu, *one.source.path[1:])


SIDE_TABLE = SideTable(
    noise_class=ENTRY_CLASS,
    title="Entries into the kernel: around the noise, not counted as noise",
    kind=ENTRY,
    cpu=ENTRY_CPU,
    figures=ENTRY_FIGURES,
    rows_of=entry_rows,
    stack_of=_stack,
)
