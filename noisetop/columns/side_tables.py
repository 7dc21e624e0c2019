"""Tables of what is traced beside the noise and is no part of it, one for each class of it.

A module of this package with a SideTable in ``SIDE_TABLE`` says how its class is shown. A class
without one is shown by path, with the figures of a source.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Sequence
from functools import cache

from noisetop import columns
from noisetop.columns.noise import SOURCE, SOURCE_CPU, SOURCE_FIGURES, SourceRow, label_of
from noisetop.columns.side_table import SideTable
from noisetop.summary.as_dict import plural
from noisetop.summary.summary import CpuSummary, SourceSummary, Summary
from noisetop.text.column import aligned


@cache
def _declared() -> dict[str, SideTable]:
    modules = [
        importlib.import_module(f"{columns.__name__}.{module.name}")
        for module in pkgutil.iter_modules(columns.__path__)
    ]
    tables = [module.SIDE_TABLE for module in modules if hasattr(module, "SIDE_TABLE")]
    return {table.noise_class: table for table in tables}


def declared_tables() -> tuple[SideTable, ...]:
    """Those that a module of this package declares, by class."""
    return tuple(table for _, table in sorted(_declared().items()))


@cache
def side_table(noise_class: str) -> SideTable:
    """The table of one class."""
    return _declared().get(noise_class) or _general(noise_class)


def side_tables(summary: Summary) -> list[SideTable]:
    """The tables of what occurred, by class."""
    return [
        side_table(name) for name in sorted({name for cpu in summary.cpus for name in cpu.side})
    ]


def table_lines(
    table: SideTable, summary: Summary, cpus: Sequence[CpuSummary], *, with_cpu: bool = False
) -> Iterator[str]:
    """A line of titles and one for each kind on each of these CPUs; nothing where none occurred.

    ``with_cpu``: a column says which CPU.
    """
    rows = [row for cpu in cpus for row in table.rows_of(summary, cpu)]
    where = (table.cpu,) if with_cpu else ()
    if rows:
        yield from aligned((*where, table.kind, *table.figures), rows)


def _general(noise_class: str) -> SideTable:
    def rows(summary: Summary, cpu: CpuSummary) -> list[SourceRow]:
        period = summary.start_ns, summary.duration_ns, 0
        found = cpu.side.get(noise_class, ())
        return [SourceRow(one, cpu.cpu, label_of(one.source), *period) for one in found]

    def stack(one: SourceSummary, cpu: str) -> tuple[str, ...]:
        return (plural(noise_class), cpu, *one.source.path[1:])

    return SideTable(
        noise_class=noise_class,
        title=f"Beside the noise, class {noise_class}",
        kind=SOURCE,
        cpu=SOURCE_CPU,
        figures=tuple(column for column in SOURCE_FIGURES if column.name != "share_percent"),
        rows_of=rows,
        stack_of=stack,
    )
