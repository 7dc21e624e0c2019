from __future__ import annotations

import json

from noisetop.counters.calibration import MEASURED, EntryCost, taken_from
from noisetop.probe.calibration_report import CalibrationReport
from noisetop.probe.entry_costs import Entry

REPORT = CalibrationReport(
    cpus=(2, 3),
    duration_ns=5_000_000_000,
    facts={"kernel": "6.1"},
    entries={
        "irq": Entry(EntryCost(11_400, 11_100, 12_300, taken_from("timer")), 0),
        "timer": Entry(EntryCost(11_400, 11_100, 12_300, MEASURED), 7_670),
    },
)


def test_as_a_table() -> None:
    title, empty, *table = REPORT.lines()
    assert title == "Entry costs on CPUs 2-3, beyond the net time of events"
    assert not empty
    assert [line.split() for line in table] == [
        ["kind", "median", "10", "%", "90", "%", "samples", "source"],
        ["irq", "11.4", "µs", "11.1", "µs", "12.3", "µs", "0", "from", "timer"],
        ["timer", "11.4", "µs", "11.1", "µs", "12.3", "µs", "7.67k", "measured"],
    ]


def test_as_json() -> None:
    assert json.loads(json.dumps(REPORT.as_dict())) == {
        "cpus": "2-3",
        "duration_ns": 5_000_000_000,
        "machine": {"kernel": "6.1"},
        "calibration": {
            "irq": {
                "entry_ns": 11_400,
                "spread_ns": [11_100, 12_300],
                "source": "from timer",
                "samples": 0,
            },
            "timer": {
                "entry_ns": 11_400,
                "spread_ns": [11_100, 12_300],
                "source": "measured",
                "samples": 7_670,
            },
        },
    }
