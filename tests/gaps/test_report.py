"""Probe results as text: figures in place, names harmless."""

from __future__ import annotations

import unicodedata
from dataclasses import replace

import pytest

from noisetop.gaps.gaps import Bucket
from noisetop.gaps.report import report_lines
from noisetop.gaps.result import ProbeResult
from tests.gaps.results import numa_result, spin_result, switch_result


@pytest.mark.parametrize(
    "result",
    [spin_result(), spin_result(100, 50), switch_result(), numa_result(), numa_result(1)],
    ids=lambda result: result.kind,
)
def test_nothing_in_a_report_commands_a_terminal(result: ProbeResult) -> None:
    for line in report_lines(result):
        assert not [c for c in line if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")]


def test_a_spin_report_tells_the_explained_share_and_the_rest() -> None:
    text = "\n".join(report_lines(spin_result()))
    assert "explained 65.00 % of the lost time, 70.00 % of that in gaps from 1 µs" in text
    assert "35.00 %  unexplained" in text
    assert "every 4.00 ms (250.0 Hz), median cost 1.50 µs" in text
    assert "200 ns waiting on the run queue by schedstat" in text
    assert "inactive from 0.000001000 s for 4.00 µs" in text


def test_without_a_trace_the_counters_are_told() -> None:
    text = "\n".join(report_lines(spin_result(explained=False)))
    assert "LOC Local timer interrupts 3" in text
    assert "unexplained" not in text


def test_several_settings_stand_side_by_side() -> None:
    lines = list(report_lines(spin_result(100, 50, 10)))
    assert [line.split()[0] for line in lines[1:4]] == ["100", "50", "10"]


def test_a_matrix_has_a_cell_for_each_pair_of_nodes() -> None:
    text = "\n".join(report_lines(numa_result()))
    assert text.count("memory 0") == text.count("memory 1") == 3
    assert "85.00 (80.00..85.00)" not in text
    assert "82.50 (80.00..85.00)" in text


def test_one_node_is_a_line_for_each_figure() -> None:
    lines = list(report_lines(numa_result(1)))
    assert "CPU node" not in "\n".join(lines)
    assert [line.split()[0] for line in lines[1:]] == ["copy,", "scale,", "latency,"]


def test_a_run_of_empty_rows_is_one_line() -> None:
    spin = spin_result().spin[0].cpus[0]
    empty = [Bucket(5_000 + i, 100, 0, 0.0) for i in range(3)]
    buckets = [*spin.buckets, *empty, Bucket(9_000, 100, 1, 1.0)]
    run = replace(spin_result().spin[0], cpus=[replace(spin, buckets=buckets)])
    lines = list(report_lines(replace(spin_result(), spin=[run])))
    assert "    (3 empty rows)" in lines


def test_no_time_slice_is_one_line() -> None:
    switch = switch_result().switch
    assert switch
    empty = replace(switch_result(), switch=replace(switch, slice_histogram={}))
    assert "  no time slice was complete" in list(report_lines(empty))


def test_a_switch_report_tells_what_the_trace_says() -> None:
    text = "\n".join(report_lines(switch_result()))
    assert "the trace has 9 of the 9 switches; 0 of its thread events, 0 ns in total" in text
    assert "ran 500 µs (50.0 %)" in text
