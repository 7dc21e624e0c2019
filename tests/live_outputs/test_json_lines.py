from __future__ import annotations

import io
import json

from noisetop.counters.hardware_figures import STEAL, HardwareFigure
from noisetop.live.output import Settings
from noisetop.live_outputs.json_lines import OUTPUT, json_line
from noisetop.summary.as_dict import summary_as_dict
from tests.builders import (
    SECOND_NS,
    START_NS,
    FakeFeed,
    cpu,
    growing,
    sample,
    side_figures,
    source,
    summary,
)

TICK = ("timer", "local_timer", "tick_nohz_handler")


def test_a_line_per_interval() -> None:
    samples = growing((1, 2), [TICK], 3)
    out = io.StringIO()
    OUTPUT.run(FakeFeed(*samples, sample(summary(), ended="done")), out, Settings())
    parsed = [json.loads(line) for line in out.getvalue().splitlines()]
    moments = [START_NS + n * SECOND_NS for n in (1, 2, 3, 1)]
    assert [one["time_ns"] for one in parsed] == moments
    assert parsed[0] == {"time_ns": START_NS + SECOND_NS, **summary_as_dict(samples[0].interval)}
    assert [one.get("ended") for one in parsed] == [None, None, None, "done"]


def test_names_are_escaped() -> None:
    hostile = "\x1b]0;x\x07[red]\u202e\x7f\n"
    line = json_line(sample(summary(cpu(1, source("thread", hostile))), ended=hostile))
    assert not set("\x1b\x07\u202e\x7f") & set(line)
    assert line.count("\n") == 1
    assert json.loads(line)["cpus"]["1"]["sources"][0]["path"] == ["thread", hostile]


def test_hardware_figures() -> None:
    hardware = (HardwareFigure(1, STEAL, 12_000_000, None, "steps of 10.0 ms", 10_000_000),)
    one = sample(summary(cpu(1, source(*TICK)), counters=side_figures(hardware=hardware)))
    told = json.loads(json_line(one))["hardware"]
    assert told["cpus"]["1"][0] | {"resolution": ""} == {
        "path": ["hardware", "steal"],
        "ns": 12_000_000,
        "count": None,
        "resolution": "",
        "step_ns": 10_000_000,
    }
