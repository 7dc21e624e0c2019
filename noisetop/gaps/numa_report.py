"""Results of ``noisetop probe numa`` as text."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from noisetop.gaps.result import NumaCell, NumaResult
from noisetop.text.sanitize import printable
from noisetop.text.styled import heading
from noisetop.text.units import format_ns

_MIB = 1 << 20


def numa_lines(result: NumaResult) -> Iterator[str]:
    """A matrix for each kernel, medians with the range behind them; a line each on one node."""
    yield f"One thread, three arrays of {result.array_bytes / _MIB:.0f} MiB"
    yield from map(printable, result.notes)
    tables = {
        f"{kernel}, GB/s": {_key(cell): cell.bandwidth[kernel] for cell in result.cells}
        for kernel in result.cells[0].bandwidth
    }
    tables["latency, ns per access"] = {_key(cell): cell.latency_ns for cell in result.cells}
    if len(result.cells) == 1:
        for title, values in tables.items():
            yield f"  {title:<22}  {_median(next(iter(values.values()))):>22}"
    else:
        for title, values in tables.items():
            yield from _matrix(title, values)
    for cell in result.cells:
        if max(cell.latency_ns) > 2 * median(cell.latency_ns):
            yield (
                f"CPU {cell.cpu}, node {cell.memory_node}: latency up to "
                f"{format_ns(max(cell.latency_ns))}: something else used the memory"
            )


def _key(cell: NumaCell) -> tuple[int, int]:
    return cell.cpu_node, cell.memory_node


def _matrix(title: str, values: dict[tuple[int, int], list[float]]) -> Iterator[str]:
    rows = sorted({row for row, _ in values})
    columns = sorted({column for _, column in values})
    yield ""
    yield heading(title)
    yield "  CPU node   " + "  ".join(f"{'memory ' + str(column):>22}" for column in columns)
    for row in rows:
        cells = []
        for column in columns:
            seen = values.get((row, column))
            cells.append(f"{_median(seen) if seen else '-':>22}")
        yield f"  {row:>8}   " + "  ".join(cells)


def _median(seen: list[float]) -> str:
    return f"{median(seen):.2f} ({min(seen):.2f}..{max(seen):.2f})"
