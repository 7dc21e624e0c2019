import json

from noisetop.absence import Absence
from noisetop.hardware_figures import HardwareFigure
from noisetop.report_json import summary_as_dict
from noisetop.summary import Losses, OwnCost, VictimWait
from noisetop.trigger_totals import TriggerSummary
from noisetop.waits import TaskWait
from tests.builders import START_NS, cpu, source, summary
from tests.recordings import TRIGGERS


def test_everything_in_a_summary_is_told() -> None:
    period = summary(
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
            faults=(source("fault", "minor", durations_ns=[700, 300], max_start_ns=START_NS),),
            entries=(source("entry", "other", durations_ns=[80], max_start_ns=START_NS + 2),),
            tick_stops={"stopped": 3, "rcu": 1},
        ),
        duration_ns=7_000,
        losses=Losses(by_cpu={1: {"ring_full": 2}}, recursion_misses=1),
        own_cost=OwnCost(10, 2, 80.5, 12, "0"),
        missing=("thermal",),
        absences=(Absence(1, START_NS + 2, None),),
        hardware=(HardwareFigure(1, ("hardware", "steal"), 50, None, "coarse", 10),),
        missing_hardware=("hardware › smi: no counter",),
        waits=(VictimWait(7, "app", TaskWait({"woken": 2}, {"woken": 50}, 40)),),
    )
    assert json.loads(json.dumps(summary_as_dict(period))) == {
        "duration_ns": 7_000,
        "start_ns": START_NS,
        "end_ns": START_NS + 7_000,
        "lost": 3,
        "losses": {
            "by_cpu": {"1": {"ring_full": 2}},
            "unpaired": 0,
            "unread": 0,
            "unwritten": 0,
            "recursion_misses": 1,
        },
        "own_cost": {
            "cpu_ns": 10,
            "wakeups": 2,
            "bpf_ns_per_record": 80.5,
            "records": 12,
            "housekeeping": "0",
        },
        "missing_sources": ["thermal"],
        "absences": [{"cpu": 1, "from_ns": START_NS + 2, "until_ns": None, "watched": True}],
        "hardware": {
            "cpus": {
                "1": [
                    {
                        "path": ["hardware", "steal"],
                        "ns": 50,
                        "count": None,
                        "resolution": "coarse",
                        "step_ns": 10,
                    }
                ]
            },
            "machine": [],
        },
        "missing_hardware": ["hardware › smi: no counter"],
        "waits": {
            "7": {"name": "app", "count": {"woken": 2}, "total_ns": {"woken": 50}, "max_ns": 40}
        },
        "cpus": {
            "1": {
                "noise_ns": 4_000,
                "idle_ns": 90,
                "max_single_ns": 3_500,
                "max_single_start_ns": START_NS + 5,
                "count": 6,
                "tick_stops": {"stopped": 3, "rcu": 1},
                "sources": [
                    {
                        "path": ["ipi", "call_function_single"],
                        "class": "ipi",
                        "count": 6,
                        "idle_count": 4,
                        "net_ns": 4_000,
                        "idle_ns": 90,
                        "max_ns": 3_000,
                        "max_start_ns": START_NS + 5,
                        "mean_ns": 2_000,
                        "p50_ns": 1_023,
                        "p99_ns": 3_000,
                        "triggers": [
                            {
                                "label": "netstamp_clear in kworker/1:2 77 ← tcpdump 99",
                                "task": "kworker/1:2",
                                "tid": 77,
                                "cpu": 1,
                                "context": "",
                                "work": "netstamp_clear",
                                "origin": "tcpdump 99",
                                "count": 2,
                                "net_ns": 4_000,
                                "max_ns": 3_000,
                            }
                        ],
                    }
                ],
                "faults": [
                    {
                        "path": ["fault", "minor"],
                        "count": 2,
                        "net_ns": 1_000,
                        "max_ns": 700,
                        "max_start_ns": START_NS,
                        "mean_ns": 500,
                        "p50_ns": 303,
                        "p99_ns": 700,
                    }
                ],
                "entries": [
                    {
                        "path": ["entry", "other"],
                        "count": 1,
                        "net_ns": 80,
                        "max_ns": 80,
                        "max_start_ns": START_NS + 2,
                        "mean_ns": 80,
                        "p50_ns": 80,
                        "p99_ns": 80,
                    }
                ],
            }
        },
    }


def test_a_summary_of_nothing() -> None:
    empty = summary_as_dict(summary())
    assert empty["cpus"] == {}
    assert empty["lost"] == 0
