"""Perfetto's own trace processor must find in a trace what the summary says."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from noisetop.recording.open import open_recording
from noisetop.recording.recording import Recording
from noisetop.summary.recorded import summary_of
from tests.recordings import (
    DATA,
    all_rows,
    everything,
    interruption,
    recording,
    table,
    write_recording,
)
from tests.viewers.perfetto import ask_perfetto

pytestmark = pytest.mark.viewer

_INTERRUPTIONS = "category NOT IN ('trigger', 'isolation')"
_TRACKS = (
    "JOIN thread_track ON slice.track_id = thread_track.id "
    "JOIN thread USING (utid) JOIN process USING (upid)"
)


def busy() -> Recording:
    """Nested interruptions of two CPUs, moments up to a day, durations of every size."""
    rows = []
    for i in range(3_000):
        start, cpu = 28_800_001 * i + i % 997, 2 + i % 2
        rows.append(interruption(start + 11, 30 + i, source=3, outermost=False, cpu=cpu))
        rows.append(interruption(start, 3_123 + i, source=i % 3, net_ns=3_093, cpu=cpu))
        rows.append(interruption(start + 10_000, 1 + i % 1_001, source=4, cpu=cpu, victim=i % 2))
    return recording(table(*rows), duration_ns=86_400_000_000_000)


def noisy() -> Recording:
    return open_recording(DATA / "noisy.noisetop")


@pytest.mark.parametrize("make", [busy, everything, noisy])
@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
def test_slices_are_those_of_the_recording(make: object, suffix: str, tmp_path: Path) -> None:
    assert callable(make)
    recorded = make()
    path = tmp_path / f"a{suffix}"
    write_recording(recorded, path, force=False)
    damage, slices, by_class, net = ask_perfetto(
        path,
        "name | value FROM stats WHERE severity IN ('error', 'data_loss') AND value != 0",
        f"ts | dur FROM slice WHERE {_INTERRUPTIONS}",
        "process.name | thread.name | count(*) FROM slice "
        f"{_TRACKS} WHERE {_INTERRUPTIONS} GROUP BY utid",
        f"sum(EXTRACT_ARG(arg_set_id, 'args.net_ns')) | sum(dur) FROM slice WHERE {_INTERRUPTIONS}",
    )
    rows = all_rows(recorded)
    assert damage == []
    expected = [(int(row["start_ns"]) - recorded.start_ns, int(row["gross_ns"])) for row in rows]
    assert sorted((int(ts), int(dur)) for ts, dur in slices) == sorted(expected)
    counts = Counter(
        (f"CPU {row['cpu']}", recorded.sources[row["source"]].noise_class) for row in rows
    )
    assert {(cpu, name): int(count) for cpu, name, count in by_class} == counts
    summary = summary_of(recorded)
    net_ns = sum(
        cpu.noise_ns + cpu.idle_ns + sum(fault.net_ns for fault in cpu.side.get("fault", ()))
        for cpu in summary.cpus
    )
    assert net == [[str(net_ns), str(int(rows["gross_ns"].sum()))]]


def test_nested_slices_of_a_class_keep_their_depth(tmp_path: Path) -> None:
    rows = table(
        interruption(100, 50, source=3, outermost=False),
        interruption(90, 200, source=3, net_ns=150),
        interruption(90, 300, source=0),
    )
    path = tmp_path / "a.json"
    write_recording(recording(rows), path, force=False)
    (depths,) = ask_perfetto(path, "ts | depth FROM slice WHERE category = 'ipi'")
    assert sorted(depths) == [["100", "1"], ["90", "0"]]


def test_arrows_lead_from_who_acted_to_what_was_interrupted(tmp_path: Path) -> None:
    ipi: dict[str, Any] = {"trigger": 2, "trigger_ns": 700}
    rows = table(
        interruption(1_050, 100, source=3, outermost=False, **ipi),
        interruption(1_000, 300, source=3, net_ns=200, **ipi),
        interruption(1_100, 300, source=3, cpu=3, **ipi),
        interruption(9_000, 300, source=0, trigger=1),
    )
    path = tmp_path / "a.json"
    write_recording(recording(rows), path, force=False)
    flows, senders, damage = ask_perfetto(
        path,
        "a.name | a.ts | b.ts | b.dur FROM flow JOIN slice a ON a.id = slice_out "
        "JOIN slice b ON b.id = slice_in",
        f"process.name | thread.name | slice.name | ts FROM slice {_TRACKS} "
        "WHERE category = 'trigger'",
        "name | value FROM stats WHERE severity IN ('error', 'data_loss') AND value != 0",
    )
    assert sorted(flows) == [
        ["stress-ng 4711", "700", "1000", "300"],
        ["stress-ng 4711", "700", "1100", "300"],
    ]
    assert senders == [["CPU 0", "triggers", "stress-ng 4711", "700"]]
    assert damage == []
