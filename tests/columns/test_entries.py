"""Entries into the kernel in what is shown: around the noise, and no part of it."""

from __future__ import annotations

import io
from datetime import datetime

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from noisetop.columns.entries import SIDE_TABLE, entry_rows
from noisetop.diagnosis.evidence import evidence_of
from noisetop.events.decoder import RecordReader
from noisetop.events.interruption import CLASSES, SIDE_LEVEL, Flag, Interruptions, Source
from noisetop.exporters import chrome_trace, flamegraph, folded
from noisetop.live_outputs.plain import text_block
from noisetop.recording.recording import Recording
from noisetop.summary.recorded import summary_of
from noisetop.summary.worst import summarize_with_worst
from tests.builders import cpu, sample, source, summary
from tests.recordings import (
    SOURCES,
    START_NS,
    events,
    fault,
    interruption,
    layout,
    names,
    nested_tables,
    recording,
    table,
)

AROUND, OTHER = len(SOURCES), len(SOURCES) + 1
ALL_SOURCES = (*SOURCES, Source(("entry", "interruption")), Source(("entry", "other")))


def with_entries(*rows: tuple[int, ...]) -> Recording:
    return recording(table(*rows), sources=ALL_SOURCES)


def busy() -> Recording:
    return with_entries(
        interruption(10, 30, source=1),
        fault(0, 60, source=AROUND, net_ns=30),
        fault(500, 70, source=OTHER),
        fault(900, 40, source=OTHER, cpu=3),
    )


def test_records_become_paths_by_kind() -> None:
    reader = RecordReader(layout(), names())
    row = {"start_ns": START_NS, "gross_ns": 9, "net_ns": 5, "victim_tid": 7, "level": SIDE_LEVEL}
    kinds = ("interruption", "page_fault", "other")
    read = reader.read(events(*({**row, "source": kind} for kind in kinds)), last=True)
    paths = [reader.namer.sources[number].path for number in read["source"]]
    assert paths == [("entry", kind) for kind in kinds]
    assert not (read["flags"] & Flag.OUTERMOST).any()


def test_the_classes_in_order_are_of_the_kernel_side() -> None:
    """It may have others: tests/exporters/test_registry.py and tests/report/test_text.py."""
    assert set(CLASSES) <= {kind.noise_class for kind in layout().kinds.values()}


@given(nested_tables(), st.lists(st.tuples(st.integers(0, 90_000), st.integers(1, 9_000))))
def test_no_figure_of_noise_knows_of_entries(
    rows: Interruptions, made: list[tuple[int, int]]
) -> None:
    entries = table(*(fault(start, length, source=AROUND) for start, length in made))
    with_them = recording(np.concatenate([rows, entries]), sources=ALL_SOURCES)
    without = recording(rows, sources=ALL_SOURCES)
    (ours, worst), (theirs, other) = (summarize_with_worst(one, 10) for one in (with_them, without))
    assert worst == other
    assert ours.noise_ns == theirs.noise_ns
    assert ours.all_cpus().by_class() == theirs.all_cpus().by_class()
    assert sum(one.count for one in ours.all_cpus().side.get("entry", ())) == len(entries)
    assert evidence_of(with_them).noise_ns == evidence_of(without).noise_ns
    assert evidence_of(with_them).fault_count == 0


def test_rows_tell_the_kind_in_words() -> None:
    period = summary_of(busy())
    assert [
        (row.label, row.cpu, row.source.net_ns) for row in entry_rows(period, period.cpus[0])
    ] == [
        ("nothing seen", 2, 70),
        ("around noise", 2, 30),
    ]
    [merged, _] = entry_rows(period, period.all_cpus())
    assert (merged.cpu, merged.source.count, merged.source.net_ns) == (None, 2, 110)


def test_plain_text_has_a_line_for_each_kind_of_each_cpu() -> None:
    around = source("entry", "interruption", durations_ns=[500])
    period = summary(cpu(1, side={"entry": (around,)}), cpu(2, side={"entry": (around,)}))
    after = (
        text_block("", sample(period), datetime.now())
        .partition(SIDE_TABLE.title)[2]
        .strip()
        .splitlines()
    )
    assert "Share" not in after[0]
    assert [line.split()[:3] for line in after[1:]] == [
        ["1", "around", "noise"],
        ["2", "around", "noise"],
    ]
    assert SIDE_TABLE.title not in text_block("", sample(summary(cpu(1))), datetime.now())


def test_stacks_keep_them_apart_and_a_trace_has_tracks_for_them() -> None:
    out, graph, trace = io.BytesIO(), io.BytesIO(), io.BytesIO()
    folded.write(busy(), out)
    assert out.getvalue().decode().splitlines() == [
        "cpu 2;unattributed;softirq;RCU 30",
        "entries;cpu 2;interruption 30",
        "entries;cpu 2;other 70",
        "entries;cpu 3;other 40",
    ]
    flamegraph.write(busy(), graph)
    assert b"entr" not in graph.getvalue()
    chrome_trace.write(busy(), trace)
    assert b'"name":"entry"' in trace.getvalue()
