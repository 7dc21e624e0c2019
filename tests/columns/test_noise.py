from collections import Counter

import pytest

from noisetop.columns.noise import (
    CPU,
    CPU_FIGURES,
    CPU_IDLE,
    MAX_SINGLE_AT,
    SOURCE,
    SOURCE_CPU,
    SOURCE_FIGURES,
    SOURCE_IDLE,
    CpuRow,
    SourceRow,
    class_columns,
    cpu_row,
    section_columns,
    source_rows,
)
from noisetop.events.interruption import CLASSES
from noisetop.text.column import NOTHING, shorten_end
from tests.builders import START_NS, cpu, side_figures, source, summary

CPU_COLUMNS = [CPU, *CPU_FIGURES, CPU_IDLE, MAX_SINGLE_AT, *section_columns()] + [
    column for name in CLASSES for column in class_columns(name)
]
SOURCE_COLUMNS = [SOURCE, SOURCE_CPU, *SOURCE_FIGURES, *SOURCE_IDLE]


def _cpu_row() -> CpuRow:
    period = summary(
        cpu(
            2,
            source("irq", "36 disk", durations_ns=[2_000, 4_000]),
            source("thread", "bash", durations_ns=[500_000], idle_count=3, idle_ns=70),
            max_single_ns=501_000,
            max_single_start_ns=START_NS + 250_000_000,
        ),
        cpu(3, source("irq", "36 disk", durations_ns=[1_000])),
        duration_ns=2_000_000_000,
    )
    return cpu_row(period, period.cpus[0])


def _source_row(*durations_ns: int, idle_count: int = 0) -> SourceRow:
    one = source(
        "timer",
        "local_timer",
        durations_ns=durations_ns,
        max_start_ns=START_NS + 1_500_000,
        idle_count=idle_count,
        idle_ns=idle_count * 10,
    )
    period = summary(cpu(1, one, source("ipi", "x", durations_ns=[3_000])), duration_ns=10**9 // 2)
    return next(row for row in source_rows(period, period.cpus[0]) if row.source is one)


def test_what_kept_the_tick_is_named_with_its_count() -> None:
    stops = {"stopped": 12, "perf_events": 3, "clock_unstable": 1_234_567}
    counters = side_figures(tick_stops={2: stops, 3: {"stopped": 0}})
    period = summary(cpu(2), cpu(3), counters=counters)
    rows = [cpu_row(period, one) for one in period.cpus]
    columns = {column.name: column for column in section_columns()}
    kept_by = columns["tick_kept_by"]
    assert [columns["tick_stopped"].text(row) for row in rows] == ["12", NOTHING]
    assert [kept_by.text(row) for row in rows] == ["an unstable clock 1234567", NOTHING]
    assert len(kept_by.text(rows[0])) <= kept_by.width


def test_names_are_unique_and_titles_fit() -> None:
    for columns in (CPU_COLUMNS, SOURCE_COLUMNS):
        assert max(Counter(column.name for column in columns).values()) == 1
        for column in columns:
            assert len(column.title) <= column.width
            assert column.help


def test_figures_of_a_cpu() -> None:
    row = _cpu_row()
    shown = {column.name: column.text(row) for column in CPU_COLUMNS}
    assert shown["cpu"] == "2"
    assert shown["noise_percent"] == "0.0253"
    assert shown["noise_ns_per_s"] == "253 µs"
    assert shown["max_single_ns"] == "501 µs"
    assert shown["max_single_start_ns"] == "0.250 s"
    assert shown["interruptions_per_s"] == "1.50"
    assert (shown["irq_count"], shown["irq_ns"]) == ("2", "6.00 µs")
    assert (shown["thread_count"], shown["thread_ns"]) == ("1", "500 µs")
    assert (shown["nmi_count"], shown["nmi_ns"]) == (NOTHING, NOTHING)
    assert shown["idle_ns"] == "70 ns"


def test_noise_percent_of_all_cpus_is_their_mean() -> None:
    period = summary(
        cpu(1, source("irq", "a", durations_ns=[10_000_000])),
        cpu(2, source("irq", "a", durations_ns=[30_000_000])),
    )
    everywhere = cpu_row(period, period.all_cpus())
    percent = next(column for column in CPU_FIGURES if column.name == "noise_percent")
    assert percent.value(everywhere) == pytest.approx(2.0)
    assert CPU.text(everywhere) == "all"


def test_figures_of_a_source() -> None:
    row = _source_row(1_000, 2_000, 6_000)
    shown = {column.name: column.text(row) for column in SOURCE_COLUMNS}
    assert shown["path"] == "timer › local_timer"
    assert shown["net_ns"] == "9.00 µs"
    assert shown["share_percent"] == "75.00%"
    assert shown["count"] == "3"
    assert shown["count_per_s"] == "6"
    assert shown["mean_ns"] == "3.00 µs"
    assert shown["max_ns"] == "6.00 µs"
    assert shown["p99_ns"] == "6.00 µs"
    assert shown["max_start_ns"] == "0.002 s"
    assert shown["idle_count"] == NOTHING


def test_a_source_that_only_ran_idle_has_no_noise_figures() -> None:
    row = _source_row(idle_count=4)
    assert {column.text(row) for column in SOURCE_FIGURES} == {NOTHING}
    assert [column.text(row) for column in SOURCE_IDLE] == ["4", "40 ns"]


def test_a_period_without_length_divides_by_nothing() -> None:
    period = summary(cpu(1, source("irq", "a")), duration_ns=0)
    row = cpu_row(period, period.cpus[0])
    assert [column.text(row) for column in CPU_FIGURES[:2]] == ["0.0000", "0 ns"]


def test_counts_are_exact_as_long_as_they_fit() -> None:
    count = class_columns("irq")[0]
    assert count.show(9_999_999) == "9999999"
    assert count.show(10_000_000) == "10.0M"


def test_order_is_largest_first_and_nothing_last() -> None:
    rows = [_source_row(), _source_row(1_000), _source_row(5_000), _source_row(3_000)]
    total = SOURCE_FIGURES[0]
    assert [total.value(row) for row in total.order(rows)] == [5_000, 3_000, 1_000, None]
    assert [total.value(row) for row in total.order(rows, reverse=True)] == [
        1_000,
        3_000,
        5_000,
        None,
    ]


def test_names_are_sorted_from_the_front() -> None:
    period = summary(cpu(1, source("softirq", "RCU"), source("irq", "9 a"), source("nmi", "x")))
    rows = source_rows(period, period.cpus[0])
    assert [row.label[:3] for row in SOURCE.order(rows)] == ["irq", "nmi", "sof"]
    assert [row.label[:3] for row in SOURCE.order(rows, reverse=True)] == ["sof", "nmi", "irq"]


@pytest.mark.parametrize("column", [*CPU_FIGURES, CPU_IDLE], ids=lambda column: str(column.name))
def test_text_fits_its_column_at_both_ends_of_the_scale(column: object) -> None:
    day_ns = 86_400 * 10**9
    for durations_ns in ([1], [day_ns], [999_950] * 1_000):
        period = summary(cpu(1, source("irq", "a", durations_ns=durations_ns)), duration_ns=day_ns)
        row = cpu_row(period, period.cpus[0])
        for one in (*CPU_FIGURES, CPU_IDLE):
            if one is column:
                assert len(one.text(row)) <= one.width


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("task", 4, "task"),
        ("tasks", 4, "tas…"),
        ("漢字", 4, "漢字"),
        ("漢字漢", 5, "漢字…"),
        ("e\u0301e\u0301", 2, "e\u0301e\u0301"),  # a combining accent takes no cell
    ],
)
def test_text_is_cut_by_the_cells_that_it_takes(text: str, width: int, shown: str) -> None:
    assert shorten_end(text, width) == shown
