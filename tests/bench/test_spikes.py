"""What the bench takes for a spike that was caught."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench import spikes
from bench.spikes import KINDS, Outcome, Strike, outcome_of
from noisetop.events.interruption import Source
from noisetop.events.trigger import Trigger
from noisetop.recording.recording import Recording
from tests.recordings import SOURCES, START_NS, interruption, recording, table

FIFO, MS = KINDS[0], 1_000_000
STRUCK = Strike(START_NS + 100 * MS, START_NS + 103 * MS, 1)
LONGER = {
    "file": "longer.noisetop", "start_ns": START_NS + 500 * MS, "duration_ns": 9 * MS,
    "net_ns": 9 * MS, "size_ns": 9 * MS, "source": ["softirq", "RCU"], "by": "", "lost": 0,
}  # fmt: skip


def file(net_ns: int) -> Recording:
    """One that has so much of the spike."""
    row = interruption(100 * MS, net_ns, source=len(SOURCES), tid=9)
    return recording(table(row), sources=[*SOURCES, Source(("thread", "spike-fifo"))])


def outcome(folder: Path, index: list[dict[str, Any]]) -> Outcome:
    """Of a folder with that index."""
    (folder / "index.json").write_text(json.dumps(index))
    return outcome_of(FIFO, folder, STRUCK)


@pytest.fixture
def in_file(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How much every file has of the spike; nothing else is wrong with it."""
    net_ns = [3 * MS]
    monkeypatch.setattr(spikes, "open_recording", lambda path: file(net_ns[0]))
    monkeypatch.setattr(spikes, "file_judged", lambda *about: iter(()))
    return net_ns


def test_what_lies_in_the_file_of_a_longer_one_was_caught(
    tmp_path: Path, in_file: list[int]
) -> None:
    found = outcome(tmp_path, [LONGER])
    assert not found.wrong
    assert found.longer == ("9000000 ns by softirq > RCU, nobody",)


def test_what_lies_in_no_file_was_missed(tmp_path: Path, in_file: list[int]) -> None:
    in_file[0] = MS
    assert "nor in their files" in outcome(tmp_path, [LONGER]).words


def test_nothing_is_merged_into_what_is_less_bad(tmp_path: Path, in_file: list[int]) -> None:
    assert "less bad" in outcome(tmp_path, [{**LONGER, "size_ns": 2 * MS}]).words


def test_by_whom_it_was_counts() -> None:
    burst = replace(KINDS[1], least_ns=0)
    rows = table(
        interruption(101 * MS, 5, source=3, trigger=1), interruption(101 * MS, 9, source=3)
    )
    named = recording(rows, triggers=(Trigger(), Trigger("spike-ipi", 7)))
    assert spikes.net_in(named, burst, STRUCK) == 5
