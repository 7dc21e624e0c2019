from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisetop.events.interruption import INTERRUPTION, SIDE_LEVEL, Interruptions, Source
from noisetop.events.origin import Origin
from noisetop.exporters import chrome_trace, chrome_trace_gzip
from noisetop.exporters._digits import width_of, write_integers, write_thousandths
from noisetop.exporters._lanes import LaneChooser
from noisetop.recording.chrome_trace_file import read_trace
from noisetop.recording.recording import Recording
from noisetop.summary.recorded import summary_of
from tests.recordings import (
    HOSTILE,
    SOURCES,
    START_NS,
    TRIGGERS,
    all_rows,
    everything,
    interruption,
    nested_tables,
    recording,
    table,
)


def written(recorded: Recording) -> bytes:
    out = io.BytesIO()
    chrome_trace.write(recorded, out)
    return out.getvalue()


def trace_of(recorded: Recording) -> dict[str, Any]:
    return dict(json.loads(written(recorded)))


def slices_of(trace: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        event for event in trace["traceEvents"] if event["ph"] == "X" and event["cat"] != "trigger"
    ]


def tracks_of(trace: dict[str, Any], name: str) -> dict[tuple[int, int], Any]:
    named = [event for event in trace["traceEvents"] if event["name"] == name]
    assert all(event["ph"] == "M" for event in named)
    return {(event["pid"], event["tid"]): event["args"] for event in named}


def read_back(recorded: Recording, path: Path) -> Recording:
    path.write_bytes(written(recorded))
    return read_trace(path)


def assert_same(found: Recording, expected: Recording) -> None:
    assert np.array_equal(all_rows(found), all_rows(expected))
    assert summary_of(found) == summary_of(expected)
    for field in ("metadata", "cpus", "start_ns", "end_ns", "sources", "counters",
                  "tasks", "ended", "damage", "triggers", "waits",
                  "stacks", "user_stacks", "victim_stacks"):  # fmt: skip
        assert getattr(found, field) == getattr(expected, field), field


def test_a_slice_says_all_that_is_known() -> None:
    one = slices_of(trace_of(everything()))[0]
    assert (one["ph"], one["name"], one["cat"], one["pid"]) == ("X", "RCU", "softirq", 2)
    assert (one["ts"], one["dur"]) == (0.12, 0.2)
    assert one["args"] == {
        "victim": "victim 100",
        "ids": [1, 100, 100, 2, 0, 0, 0],
        "net_ns": 150,
        "trigger_ns": 0,
    }


def test_what_ran_on_an_idle_cpu_has_no_victim() -> None:
    rows = table(
        interruption(0, 10, victim=0, tid=0), interruption(20, 5, source=4, victim=0, tid=9)
    )
    idle, worker = slices_of(trace_of(recording(rows, tasks={})))
    assert idle["args"]["idle"] is True
    assert "victim" not in idle["args"]
    assert idle["args"]["task"] == "idle 0"
    assert worker["args"]["task"] == "kworker/2:1 9"


def test_a_process_for_each_watched_cpu_and_a_track_for_each_class() -> None:
    trace = trace_of(everything())
    processes = {pid: args["name"] for (pid, _), args in tracks_of(trace, "process_name").items()}
    assert processes == {0: "CPU 0", 2: "CPU 2", 3: "CPU 3"}
    threads = tracks_of(trace, "thread_name")
    for one in slices_of(trace):
        assert threads[one["pid"], one["tid"]]["name"] == one["cat"]
    assert len({tid for _, tid in threads}) == len(threads)


def test_cpus_and_classes_come_in_order() -> None:
    trace = trace_of(everything())
    order = {key: args["sort_index"] for key, args in tracks_of(trace, "thread_sort_index").items()}
    names = tracks_of(trace, "thread_name")
    on_cpu_2 = sorted((key for key in order if key[0] == 2), key=order.__getitem__)
    assert [names[key]["name"] for key in on_cpu_2] == ["timer", "softirq", "thread", "fault"]
    assert {pid for pid, _ in tracks_of(trace, "process_sort_index")} == {0, 2, 3}


def test_an_arrow_leads_from_the_moment_on_the_other_cpu_to_the_outer_interruption() -> None:
    ipi: dict[str, Any] = {"source": 3, "trigger": 2, "trigger_ns": 700}
    rows = table(
        interruption(1_050, 100, outermost=False, **ipi),
        interruption(1_000, 300, **ipi),
        interruption(1_100, 300, cpu=3, **ipi),
        interruption(2_000, 300, source=0, trigger=1),
        interruption(3_000, 300, cpu=3, source=3, trigger=3, trigger_ns=-START_NS + 1),
        interruption(4_000, 300, source=3, trigger=3, trigger_ns=4_001),
        interruption(5_000, 300, source=3, cpu=0, trigger=2, trigger_ns=4_900),
    )
    trace = trace_of(recording(rows))
    slices = {(one["pid"], one["ts"]): one for one in slices_of(trace)}
    assert slices[2, 1.0]["args"]["trigger"] == "stress-ng 4711"
    senders = [event for event in trace["traceEvents"] if event.get("cat") == "trigger"]
    (sender,) = [event for event in senders if event["ph"] == "X"]
    assert (sender["name"], sender["pid"], sender["ts"]) == ("stress-ng 4711", 0, 0.7)
    assert tracks_of(trace, "thread_name")[0, sender["tid"]]["name"] == "triggers"
    begins = {event["id"]: event for event in senders if event["ph"] == "s"}
    ends = {event["id"]: event for event in senders if event["ph"] == "f"}
    assert begins.keys() == ends.keys()
    assert {(one["pid"], one["tid"], one["ts"]) for one in begins.values()} == {
        (0, sender["tid"], 0.7)
    }
    assert sorted((one["pid"], one["ts"]) for one in ends.values()) == [(2, 1.0), (3, 1.1)]
    assert all(slices[one["pid"], one["ts"]]["tid"] == one["tid"] for one in ends.values())


def test_the_head_tells_about_the_recording() -> None:
    about = trace_of(everything())["otherData"]
    assert about["writer"].startswith("noisetop ")
    assert (about["start_ns"], about["cpus"]) == (START_NS, [2, 3])
    assert about["losses"]["by_cpu"] == {"2": {"ring_full": 3}, "3": {"ring_full": 0}}
    assert about["missing_sources"] == ["csd_function_entry"]
    assert (about["damage"], about["ended"]) == ("it was cut short", "the process ended")
    assert about["own_cost"]["cpu_ns"] == 5_000_000
    assert about["metadata"]["command"] == "noisetop record"


def test_hostile_names_stay_what_they_are_and_break_nothing() -> None:
    content = written(everything())
    assert b"<" not in content
    assert not [byte for byte in content if byte < 32 and byte != ord("\n")]
    hostile = slices_of(json.loads(content))[2]
    assert (hostile["cat"], hostile["name"]) == ("thread", f"{HOSTILE} › {HOSTILE}")


def test_a_path_that_its_name_cuts_short_is_told_whole() -> None:
    long = Source(("irq", "36 gpio", "7 button", "handler"))
    rows = table(interruption(0, 10, source=0), interruption(20, 10, source=len(SOURCES)))
    short, cut = slices_of(trace_of(recording(rows, sources=(*SOURCES, long))))
    assert "source" not in short["args"]
    assert (cut["name"], cut["args"]["source"]) == ("7 button › handler", long.label)


def test_everything_reads_back(tmp_path: Path) -> None:
    assert_same(read_back(everything(), tmp_path / "t"), everything())


def test_the_compressed_one_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "t"
    with path.open("wb") as out:
        chrome_trace_gzip.write(everything(), out)
    assert_same(read_trace(path), everything())


@pytest.mark.parametrize("cpus", [(), (2, 3)])
def test_a_recording_without_events_reads_back(tmp_path: Path, cpus: tuple[int, ...]) -> None:
    assert_same(read_back(recording(cpus=cpus), tmp_path / "t"), recording(cpus=cpus))


@given(nested_tables(), st.lists(st.integers(0, 60), max_size=3))
def test_any_recording_reads_back(tmp_path: Path, rows: Interruptions, cuts: list[int]) -> None:
    recorded = recording(*np.split(rows, sorted(cuts)))
    assert_same(read_back(recorded, tmp_path / "t"), recorded)


NS = st.one_of(st.integers(0, 1 << 20), st.integers(0, (1 << 63) - 1 - START_NS))
ROWS = st.tuples(
    NS.map(lambda ns: ns + START_NS), NS, NS, st.integers(0, len(SOURCES) - 1),
    st.integers(0, (1 << 32) - 1), st.integers(0, (1 << 32) - 1), st.integers(0, (1 << 16) - 1),
    st.integers(0, SIDE_LEVEL), st.integers(0, 255), st.integers(0, len(TRIGGERS) - 1),
    st.integers(0, (1 << 63) - 1), st.integers(0, len(Origin) - 1),
)  # fmt: skip


@given(st.lists(ROWS, max_size=30))
def test_any_numbers_read_back(tmp_path: Path, rows: list[tuple[int, ...]]) -> None:
    recorded = recording(np.array(rows, INTERRUPTION))
    assert np.array_equal(all_rows(read_back(recorded, tmp_path / "t")), all_rows(recorded))


def test_columns_that_get_wider_on_the_way_read_back(tmp_path: Path) -> None:
    rows = [interruption(10**k, 10**k, tid=min(10**k, 1 << 31)) for k in range(13)]
    recorded = recording(*[table(row) for row in rows], duration_ns=10**14)
    assert np.array_equal(all_rows(read_back(recorded, tmp_path / "t")), table(*rows))


def test_more_rows_than_are_written_at_once_read_back(tmp_path: Path) -> None:
    rows = table(*[interruption(100 * i, 50 + i % 7, cpu=2 + i % 2) for i in range(30_000)])
    recorded = recording(rows)
    assert np.array_equal(all_rows(read_back(recorded, tmp_path / "t")), rows)


def test_forgetting_texts_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [interruption(i, 1, source=i % 6, tid=i % 50, cpu=2) for i in range(0, 20_000)]
    expected = written(recording(table(*rows)))
    monkeypatch.setattr(chrome_trace, "_CACHED_TEXTS", 1)
    assert written(recording(table(*rows))) == expected


@given(st.lists(st.integers(0, (1 << 64) - 1), min_size=1, max_size=20))
def test_numbers_as_text(numbers: list[int]) -> None:
    width = width_of(max(numbers))
    rows = np.full((len(numbers), width + 4), ord("x"), np.uint8)
    write_integers(rows, 0, width, np.array(numbers, np.uint64))
    assert [row.tobytes() for row in rows] == [b"%*dxxxx" % (width, n) for n in numbers]
    width = width_of(max(numbers) // 1000)
    write_thousandths(rows, 0, width, np.array(numbers, np.uint64))
    assert [row.tobytes()[: width + 4] for row in rows] == [
        b"%*d.%03d" % (width, n // 1000, n % 1000) for n in numbers
    ]


def crossing(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether two slices of a track neither nest nor lie apart."""
    (begin, end), (later_begin, later_end) = sorted((one, other))
    return begin < later_begin < end < later_end


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=25),
    st.integers(0, 25),
)
def test_slices_of_a_line_never_cross(spans: list[tuple[int, int]], cut: int) -> None:
    starts = np.array([start for start, _ in spans], np.int64)
    ends = starts + np.array([length for _, length in spans], np.int64)
    chooser = LaneChooser()
    track = np.zeros(len(spans), np.int64)
    lanes = np.concatenate(
        [chooser.lanes(track[:cut], starts[:cut], ends[:cut]),
         chooser.lanes(track[cut:], starts[cut:], ends[cut:])]
    )  # fmt: skip
    for lane in set(lanes.tolist()) - {9}:
        mine = [
            (int(start), int(end))
            for start, end, found in zip(starts, ends, lanes, strict=True)
            if found == lane
        ]
        assert not any(crossing(one, other) for one in mine for other in mine)


@given(nested_tables())
def test_what_nests_stays_on_one_line(rows: Interruptions) -> None:
    slices = slices_of(trace_of(recording(rows)))
    classes = {(one["pid"], one["tid"]): one["cat"] for one in slices}
    assert len(classes) == len({(pid, cat) for (pid, _), cat in classes.items()})


def test_what_crosses_gets_a_line_that_says_so() -> None:
    rows = table(interruption(0, 100), interruption(50, 100))
    trace = trace_of(recording(rows))
    threads = tracks_of(trace, "thread_name")
    names = [threads[one["pid"], one["tid"]]["name"] for one in slices_of(trace)]
    assert names == ["timer", "timer (overlapping 1)"]
