"""What is traced beside the noise and is no part of it, as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from noisetop import entry_columns, fault_columns
from noisetop.columns import Column, aligned
from noisetop.summary import CpuSummary, Summary


@dataclass(frozen=True, slots=True)
class ApartTable:
    """One kind of it: which columns there are, and what their rows are made from."""

    title: str
    kind: Column[Any]
    cpu: Column[Any]
    figures: tuple[Column[Any], ...]
    rows_of: Callable[[Summary, CpuSummary], list[Any]]

    def lines(
        self, summary: Summary, cpus: Sequence[CpuSummary], *, tell_cpu: bool = False
    ) -> Iterator[str]:
        """A line of titles and one for each kind on each of these CPUs; nothing where none
        occurred."""
        rows = [row for cpu in cpus for row in self.rows_of(summary, cpu)]
        where = (self.cpu,) if tell_cpu else ()
        if rows:
            yield from aligned((*where, self.kind, *self.figures), rows)


TABLES = (
    ApartTable(
        fault_columns.TITLE,
        fault_columns.FAULT,
        fault_columns.FAULT_CPU,
        fault_columns.FAULT_FIGURES,
        fault_columns.fault_rows,
    ),
    ApartTable(
        entry_columns.TITLE,
        entry_columns.ENTRY,
        entry_columns.ENTRY_CPU,
        entry_columns.ENTRY_FIGURES,
        entry_columns.entry_rows,
    ),
)
