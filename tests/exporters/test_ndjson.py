from __future__ import annotations

import io
import json
from typing import Any

from noisetop.exporters import ndjson
from noisetop.recording.recording import Recording
from noisetop.summary.recorded import summary_of
from tests.recordings import HOSTILE, START_NS, everything, interruption, recording, table


def rows_of(recorded: Recording) -> list[dict[str, Any]]:
    out = io.BytesIO()
    ndjson.write(recorded, out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_a_line_says_all_of_one_interruption() -> None:
    row = interruption(10, 900, source=3, net_ns=700, cpu=3, victim=100, tid=100, trigger=2)
    assert rows_of(recording(table(row))) == [
        {
            "cpu": 3,
            "start_ns": START_NS + 10,
            "gross_ns": 900,
            "net_ns": 700,
            "tid": 100,
            "victim_tid": 100,
            "path": ["ipi", "call_function_single", "flush_tlb_func"],
            "trigger": "stress-ng 4711",
        }
    ]


def test_every_interruption_has_a_line_and_nothing_else_has() -> None:
    rows = rows_of(everything())
    assert len(rows) == sum(len(chunk) for chunk in everything().chunks())
    noise = sum(row["net_ns"] for row in rows if row["victim_tid"])
    assert noise == summary_of(everything()).noise_ns


def test_hostile_names_stay_what_they_are_within_one_line() -> None:
    assert any(HOSTILE in row["path"] for row in rows_of(everything()))
