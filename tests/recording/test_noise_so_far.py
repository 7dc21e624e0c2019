"""What a progress line tells of the noise is what the recording says in the end."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noisetop.events.interruption import SIDE_LEVEL
from noisetop.events.layout import Events
from noisetop.recording import growing_events
from noisetop.recording.noise_so_far import NoiseSoFar
from noisetop.recording.raw_file import read_spool
from noisetop.summary.recorded import summary_of
from tests.recordings import FLAGS, START_NS, events, layout, write_spool

NOT_NOISE = (
    {"victim_tid": 0},
    {"level": SIDE_LEVEL, "source": "minor"},
    {"flags": FLAGS["NAME"]},
    {"flags": FLAGS["TRIGGER"]},
    {"flags": FLAGS["WAIT"], "level": 0},
)


def some_events(count: int) -> Events:
    softirq = {"source": "softirq", "id": 1, "cpu": 2, "victim_tid": 7, "level": 2}
    rows = []
    for i in range(count):
        row = softirq | {"start_ns": START_NS + 1_000 * i, "gross_ns": 90, "net_ns": 40 + i}
        rows += [row, row | NOT_NOISE[i % len(NOT_NOISE)]]
    return events(*rows)


def blocks_begin(path: Path) -> int:
    """Size of the head and the symbols: of a file without events and end, less its start block."""
    shared = layout()
    return len(write_spool(path, end_ns=None)) - shared.block.itemsize - 8


def test_the_same_as_of_the_whole_recording(tmp_path: Path) -> None:
    path = tmp_path / "a"
    offset = blocks_begin(path)
    write_spool(path, [some_events(10), some_events(25), some_events(1)])
    with path.open("rb") as file:
        noise = NoiseSoFar(file.fileno(), layout(), offset)
        assert noise.read() == noise.read() == summary_of(read_spool(path)).noise_ns
        assert file.tell() == 0


@settings(max_examples=30)
@given(cuts=st.lists(st.floats(0, 1), max_size=5))
def test_each_block_counts_once_it_is_whole(tmp_path: Path, cuts: list[float]) -> None:
    path = tmp_path / "a"
    offset = blocks_begin(path)
    whole = write_spool(path, [some_events(5), some_events(9), some_events(2)])
    sums = {0, *(sum(40 + i for i in range(5)), 200 + 10 + sum(40 + i for i in range(9)))}
    total_ns = summary_of(read_spool(path)).noise_ns
    path.write_bytes(whole[:offset])
    with path.open("r+b") as file:
        noise = NoiseSoFar(file.fileno(), layout(), offset)
        for cut in sorted(cuts):
            size = offset + round(cut * (len(whole) - offset))
            path.write_bytes(whole[:size])
            assert noise.read() in {*sums, total_ns}
        path.write_bytes(whole)
        assert noise.read() == total_ns


def test_a_large_block_is_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    offset = blocks_begin(path)
    write_spool(path, [some_events(50)])
    monkeypatch.setattr(growing_events, "_PIECE_BYTES", 1_000)
    with path.open("rb") as file:
        noise = NoiseSoFar(file.fileno(), layout(), offset)
        assert noise.read() == summary_of(read_spool(path)).noise_ns
