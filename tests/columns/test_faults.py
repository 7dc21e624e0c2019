"""Page faults in what is shown: apart from the noise, and what they ran apart from their sleep."""

from __future__ import annotations

import io
from datetime import datetime

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from noisetop.columns.faults import SIDE_TABLE, fault_rows
from noisetop.compare.sample import sample_of_recording
from noisetop.diagnosis import diagnose
from noisetop.diagnosis.evidence import evidence_of
from noisetop.events.decoder import RecordReader
from noisetop.events.interruption import SIDE_LEVEL, Flag, Interruptions
from noisetop.exporters import flamegraph, folded
from noisetop.live_outputs.plain import text_block
from noisetop.recording.recording import Recording
from noisetop.report.text import Report, report_lines
from noisetop.summary.recorded import summary_of
from noisetop.summary.worst import summarize_with_worst
from tests.builders import cpu, sample, source, summary
from tests.recordings import (
    FAULTS,
    SOURCES,
    START_NS,
    all_rows,
    events,
    fault,
    interruption,
    layout,
    names,
    nested_tables,
    recording,
    table,
)

MAJOR, ASLEEP = len(SOURCES), len(SOURCES) + 1
ALL_SOURCES = (*SOURCES, *FAULTS)


def with_faults(*rows: tuple[int, ...]) -> Recording:
    return recording(table(*rows), sources=ALL_SOURCES)


def busy() -> Recording:
    return with_faults(
        interruption(0, 30, source=1),
        fault(50, 9_000, source=MAJOR, net_ns=2_000),
        fault(1_000, 7_000, source=ASLEEP, net_ns=6_000),
        fault(20_000, 500, source=MAJOR, net_ns=400, cpu=3),
    )


def test_a_diagnosis_keeps_them_apart_from_the_noise() -> None:
    found = evidence_of(busy())
    assert (found.fault_count, found.fault_ns) == (3, 8_400)
    assert found.noise_ns == summary_of(busy()).noise_ns == 30


def text_of(recorded: Recording) -> list[str]:
    worst = summarize_with_worst(recorded, 10)
    made = Report(recorded, *worst, diagnose(evidence_of(recorded)))
    return list(report_lines(made, width=200, top=20, histogram_of=""))


def test_the_level_is_the_one_of_the_kernel_side() -> None:
    assert layout().values("noise_level")["SIDE"] == SIDE_LEVEL


def test_records_become_paths_by_kind() -> None:
    reader = RecordReader(layout(), names())
    row = {"start_ns": START_NS, "gross_ns": 9, "net_ns": 5, "victim_tid": 7, "level": SIDE_LEVEL}
    read = reader.read(
        events(
            {**row, "source": "minor"},
            {**row, "source": "major"},
            {**row, "source": "numa_hint"},
            {**row, "source": "asleep", "parent_source": "numa_hint"},
        ),
        last=True,
    )
    assert [reader.namer.sources[number].path for number in read["source"]] == [
        ("fault", "minor"),
        ("fault", "major"),
        ("fault", "numa_hint"),
        ("fault", "numa_hint", "asleep"),
    ]
    assert set(read["level"]) == {SIDE_LEVEL}
    assert not (read["flags"] & Flag.OUTERMOST).any()
    assert not read["trigger"].any()


@given(nested_tables(), st.lists(st.tuples(st.integers(0, 90_000), st.integers(1, 9_000))))
def test_no_figure_of_noise_knows_of_faults(
    rows: Interruptions, made: list[tuple[int, int]]
) -> None:
    faults = table(*(fault(start, length, source=MAJOR) for start, length in made))
    with_them = recording(np.concatenate([rows, faults]), sources=ALL_SOURCES)
    without = recording(rows, sources=ALL_SOURCES)
    assert np.array_equal(np.concatenate([rows[:0], *with_them.chunks()]), rows)
    assert len(all_rows(with_them)) == len(rows) + len(faults)
    summary_with, worst_with = summarize_with_worst(with_them, 10)
    summary_without, worst_without = summarize_with_worst(without, 10)
    assert worst_with == worst_without
    assert summary_with.noise_ns == summary_without.noise_ns
    assert summary_with.all_cpus().by_class() == summary_without.all_cpus().by_class()
    counted = sum(one.count for one in summary_with.all_cpus().side.get("fault", ()))
    assert counted == len(faults)
    a, b = (sample_of_recording("x", one, 1_000_000) for one in (with_them, without))
    assert a.labels == b.labels
    assert np.array_equal(a.total_ns, b.total_ns)


def test_the_report_has_a_section_for_them() -> None:
    lines = text_of(busy())
    first = lines.index(SIDE_TABLE.title)
    titles, row = lines[first + 1].split(), lines[first + 2]
    assert titles == [
        "Fault",
        "Total",
        "Count",
        "Rate/s",
        "Mean",
        "Max",
        "Blocked",
        "Block#",
        "Longest",
    ]
    assert row.split() == [
        "major",
        "2.40",
        "µs",
        "2",
        "2",
        "1.20",
        "µs",
        "2.00",
        "µs",
        "6.00",
        "µs",
        "1",
        "6.00",
        "µs",
    ]
    assert lines[first + 3] == ""
    assert SIDE_TABLE.title not in text_of(recording(table(interruption(0, 30))))


def test_plain_text_has_a_line_for_each_kind_of_each_cpu() -> None:
    minor = source("fault", "minor", durations_ns=[500])
    hint = source("fault", "numa_hint", durations_ns=[500])
    text = text_block(
        "",
        sample(summary(cpu(1, side={"fault": (minor, hint)}), cpu(2, side={"fault": (minor,)}))),
        datetime.now(),
    )
    after = text.partition(SIDE_TABLE.title)[2].strip().splitlines()
    assert [line.split()[:2] for line in after[1:]] == [
        ["1", "minor"],
        ["1", "numa"],
        ["2", "minor"],
    ]
    assert SIDE_TABLE.title not in text_block("", sample(summary(cpu(1))), datetime.now())


def test_a_sleep_without_its_fault_is_told_too() -> None:
    asleep = source("fault", "major", "asleep", durations_ns=[70])
    period = summary(cpu(1, side={"fault": (asleep,)}))
    [row] = fault_rows(period, period.cpus[0])
    assert (row.kind, row.ran, row.asleep) == ("major", None, asleep)


def test_folded_stacks_keep_faults_and_their_sleep_apart() -> None:
    out = io.BytesIO()
    folded.write(busy(), out)
    assert out.getvalue().decode().splitlines() == [
        "blocked in page faults;cpu 2;major 6000",
        "cpu 2;unattributed;softirq;RCU 30",
        "page faults;cpu 2;major 2000",
        "page faults;cpu 3;major 400",
    ]
    graph = io.BytesIO()
    flamegraph.write(busy(), graph)
    assert b"major" not in graph.getvalue()
