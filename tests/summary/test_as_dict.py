from __future__ import annotations

import json
from typing import Any

import pytest

from noisetop.counters.hardware_figures import HardwareFigure
from noisetop.counters.losses import Losses
from noisetop.counters.offline_cpus import OfflineInterval
from noisetop.counters.overhead import Overhead
from noisetop.events.waits import TaskWait
from noisetop.summary.as_dict import summary_as_dict
from noisetop.summary.summary import VictimWait
from noisetop.summary.trigger_totals import TriggerSummary
from tests.builders import START_NS, cpu, side_figures, source, summary
from tests.recordings import TRIGGERS

PERIOD = summary(
    cpu(
        1,
        source(
            "ipi",
            "call_function_single",
            durations_ns=[1_000, 3_000],
            max_start_ns=START_NS + 5,
            idle_count=4,
            idle_ns=90,
            triggers=(TriggerSummary(TRIGGERS[3], 2, 4_000, 3_000),),
        ),
        max_single_ns=3_500,
        max_single_start_ns=START_NS + 5,
        side={
            "fault": (source("fault", "minor", durations_ns=[700, 300], max_start_ns=START_NS),),
            "entry": (source("entry", "other", durations_ns=[80], max_start_ns=START_NS + 2),),
        },
    ),
    duration_ns=7_000,
    counters=side_figures(
        losses=Losses(by_cpu={1: {"ring_full": 2}}, recursion_misses=1),
        overhead=Overhead(10, 2, 80.5, 12, "0"),
        unavailable=("thermal",),
        offline=(OfflineInterval(1, START_NS + 2, None),),
        tick_stops={1: {"stopped": 3, "rcu": 1}},
        hardware=(HardwareFigure(1, ("hardware", "steal"), 50, None, "coarse", 10),),
        unavailable_hardware=("hardware › smi: no counter",),
    ),
    waits=(VictimWait(7, "app", TaskWait({"woken": 2}, {"woken": 50}, 40)),),
)


@pytest.fixture
def told() -> dict[str, Any]:
    """What a reader of the file gets."""
    document: dict[str, Any] = json.loads(json.dumps(summary_as_dict(PERIOD)))
    return document


def test_the_period(told: dict[str, Any]) -> None:
    assert told["start_ns"] == START_NS
    assert told["duration_ns"] == told["end_ns"] - told["start_ns"] == 7_000


def test_side_figures_are_told_beside_the_noise(told: dict[str, Any]) -> None:
    losses, overhead = told["losses"], told["overhead"]
    assert told["lost"] == 3
    assert losses["by_cpu"] == {"1": {"ring_full": 2}}
    assert losses["recursion_misses"] == 1
    assert (overhead["cpu_ns"], overhead["bpf_ns_per_record"]) == (10, 80.5)
    assert told["unavailable_sources"] == ["thermal"]
    assert told["unavailable_hardware"] == ["hardware › smi: no counter"]
    [interval] = told["offline_intervals"]
    assert (interval["cpu"], interval["from_ns"], interval["until_ns"]) == (1, START_NS + 2, None)
    [steal] = told["hardware"]["cpus"]["1"]
    assert (steal["path"], steal["ns"], steal["count"]) == (["hardware", "steal"], 50, None)
    assert told["waits"]["7"]["total_ns"] == {"woken": 50}
    assert told["cpus"]["1"]["tick_stops"] == {"stopped": 3, "rcu": 1}


def test_a_cpu_has_its_totals_and_its_sources(told: dict[str, Any]) -> None:
    cpu_told = told["cpus"]["1"]
    [one] = cpu_told["sources"]
    assert (cpu_told["noise_ns"], cpu_told["idle_ns"], cpu_told["count"]) == (4_000, 90, 6)
    assert (cpu_told["max_single_ns"], cpu_told["max_single_start_ns"]) == (3_500, START_NS + 5)
    assert one["path"] == ["ipi", "call_function_single"]
    assert (one["class"], one["count"], one["idle_count"]) == ("ipi", 6, 4)
    assert (one["net_ns"], one["max_ns"], one["max_start_ns"]) == (4_000, 3_000, START_NS + 5)
    assert one["mean_ns"] == 2_000
    assert one["p50_ns"] <= one["p99_ns"] <= one["max_ns"]


def test_a_source_has_its_triggers(told: dict[str, Any]) -> None:
    [trigger] = told["cpus"]["1"]["sources"][0]["triggers"]
    assert (trigger["task"], trigger["tid"], trigger["cpu"]) == ("kworker/1:2", 77, 1)
    assert (trigger["work"], trigger["origin"]) == ("netstamp_clear", "tcpdump 99")
    assert (trigger["count"], trigger["net_ns"], trigger["max_ns"]) == (2, 4_000, 3_000)
    for part in ("netstamp_clear", "kworker/1:2", "tcpdump"):
        assert part in trigger["label"]


def test_what_is_no_noise_stands_apart(told: dict[str, Any]) -> None:
    [fault], [entry] = told["cpus"]["1"]["faults"], told["cpus"]["1"]["entries"]
    assert (fault["path"], fault["count"], fault["net_ns"]) == (["fault", "minor"], 2, 1_000)
    assert (entry["path"], entry["count"], entry["net_ns"]) == (["entry", "other"], 1, 80)


def test_a_summary_of_nothing() -> None:
    empty = summary_as_dict(summary())
    assert empty["cpus"] == {}
    assert empty["lost"] == 0
