from __future__ import annotations

import json

from noisetop.counters.calibration import KINDS, MEASURED, EntryCost, taken_from
from noisetop.probe.calibration_report import CalibrationReport
from noisetop.probe.entry_costs import Entry

REPORT = CalibrationReport(
    cpus=(2, 3),
    duration_ns=5_000_000_000,
    facts={"kernel": "6.1"},
    entries={
        "irq": Entry(EntryCost(11_400, 11_100, 12_300, taken_from("timer")), 0),
        "timer": Entry(EntryCost(11_400, 11_100, 12_300, MEASURED, 900), 7_670),
    },
)


def test_as_a_table() -> None:
    title, empty, *table = REPORT.lines()
    assert title == "Entry costs on CPUs 2-3, beyond the net time of events"
    assert not empty
    times = ["11.4", "µs", "11.1", "µs", "12.3", "µs"]
    assert [line.split() for line in table] == [
        ["kind", "mean", "10", "%", "90", "%", "cold", "samples", "source"],
        ["irq", *times, "11.4", "µs", "0", "from", "timer"],
        ["timer", *times, "12.3", "µs", "7.67k", "measured"],
        *(
            [kind, "-", "-", "-", "-", "0", "not", "measured"]
            for kind in KINDS
            if kind not in REPORT.entries
        ),
    ]


def test_as_json() -> None:
    told = json.loads(json.dumps(REPORT.as_dict()))
    missing = {kind: told["calibration"].pop(kind) for kind in KINDS if kind not in REPORT.entries}
    assert {one["source"] for one in missing.values()} == {"not measured"}
    assert told == {
        "cpus": "2-3",
        "duration_ns": 5_000_000_000,
        "machine": {"kernel": "6.1"},
        "calibration": {
            "irq": {
                "entry_ns": 11_400,
                "cold_entry_ns": 11_400,
                "spread_ns": [11_100, 12_300],
                "source": "from timer",
                "samples": 0,
            },
            "timer": {
                "entry_ns": 11_400,
                "cold_entry_ns": 12_300,
                "spread_ns": [11_100, 12_300],
                "source": "measured",
                "samples": 7_670,
            },
        },
    }
