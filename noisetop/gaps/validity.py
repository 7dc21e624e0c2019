"""What holds for every probe result that a probe made, so that no reader has to ask."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from noisetop.gaps.result import CpuSpin, NumaResult, ProbeResult, SpinResult, SwitchResult
from noisetop.tables.histogram import BUCKETS

_PERCENTILES = {"p50", "p99", "p99.99"}
"""Those that reports show side by side."""


def check_result(result: ProbeResult) -> None:
    """Raises ValueError for a result that cannot be."""
    given = {"spin": result.spin, "switch": result.switch, "numa": result.numa}
    if [kind for kind, value in given.items() if value] != [result.kind]:
        raise ValueError("its kind is not that of its content")
    for run in result.spin:
        _check_spin(run)
    if result.switch:
        _check_switch(result.switch)
    if result.numa:
        _check_numa(result.numa)


def _check_spin(run: SpinResult) -> None:
    if not run.cpus:
        raise ValueError("'cpus' is empty")
    for cpu in run.cpus:
        _check_cpu(cpu)
        _check_blocks(cpu)


def _check_cpu(cpu: CpuSpin) -> None:
    if not 0 <= cpu.start_ns <= cpu.end_ns:
        raise ValueError("it ends before it starts")
    figures = (cpu.active_ns, cpu.gaps, cpu.lost_ns, cpu.unstored_gaps, cpu.unstored_ns, cpu.max_ns)
    _check_not_negative("a figure", (*figures, *(bucket.count for bucket in cpu.buckets)))
    if cpu.unstored_gaps > cpu.gaps or cpu.unstored_ns > cpu.lost_ns:
        raise ValueError("more gaps were not stored than there were")
    if not _PERCENTILES.issubset(cpu.percentiles_ns):
        raise ValueError("'percentiles_ns' lacks one")
    _check_histogram(cpu.histogram)
    _check_shape("curve", cpu.curve, 2)
    if not all(0 <= share <= 1 and ns >= 0 for share, ns in cpu.curve):
        raise ValueError("'curve' leads where none can")
    _check_shape("timeline", cpu.timeline, 2)
    _check_order(cpu.timeline)
    for regular in (
        cpu.regular,
        cpu.explained and cpu.explained.outside and cpu.explained.outside.regular,
    ):
        if regular and regular.period_ns < 1:
            raise ValueError("'period_ns' is none")


def _check_blocks(cpu: CpuSpin) -> None:
    blocks, size = cpu.blocks, len(cpu.blocks.lost_ns)
    if blocks.length_ns < 1 or len(blocks.gap_count) != size:
        raise ValueError("'blocks' do not fit")
    rows = [blocks.gap_count, blocks.lost_ns]
    for pair in blocks.sources.values():
        if len(pair) != 2 or any(len(row) != size for row in pair):
            raise ValueError("'sources' do not fit")
        rows += pair
    for row in rows:
        _check_not_negative("a block", row)


def _check_switch(switch: SwitchResult) -> None:
    if switch.duration_ns < 1 or not switch.processes:
        raise ValueError("nothing was measured")
    _check_histogram(switch.slice_histogram)
    _check_shape("timeline", switch.timeline, 3)
    _check_order([row[1:] for row in switch.timeline])


def _check_numa(numa: NumaResult) -> None:
    kernels = [cell.bandwidth.keys() for cell in numa.cells]
    if not kernels or any(one != kernels[0] for one in kernels):
        raise ValueError("'cells' do not fit")
    for cell in numa.cells:
        for values in (cell.latency_ns, *cell.bandwidth.values()):
            if not values:
                raise ValueError("a measurement without values")
            _check_not_negative("a measurement", values)


def _check_shape(name: str, rows: Iterable[Sequence[float]], width: int) -> None:
    if any(len(row) != width for row in rows):
        raise ValueError(f"'{name}' does not fit")


def _check_order(rows: Iterable[Sequence[int]]) -> None:
    if any(not 0 <= start <= end for start, end in rows):
        raise ValueError("'timeline' runs backwards")


def _check_histogram(histogram: Mapping[str, int]) -> None:
    if any(not 0 <= int(bucket) < BUCKETS for bucket in histogram):
        raise ValueError("'histogram' has an unknown bucket")
    _check_not_negative("'histogram'", histogram.values())


def _check_not_negative(name: str, values: Iterable[float]) -> None:
    if any(value < 0 for value in values):
        raise ValueError(f"{name} is negative")
