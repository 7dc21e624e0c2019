"""Where the kernel hides the names of its functions no rule guesses what they were for."""

from __future__ import annotations

import pytest

from noisetop.diagnosis import diagnose
from noisetop.diagnosis.evidence import Evidence
from noisetop.events.decoder import RecordReader
from tests.diagnosis.cases import START_NS, share
from tests.recordings import events, layout, names

ADDRESS = "0xffffffff81123456"


def rules(*path: str, ran: tuple[str, ...] = ()) -> list[str]:
    evidence = Evidence((share(*path, ran=ran),), 1_000_000_000, START_NS, (2, 3))
    return [finding.rule for finding in diagnose(evidence).findings]


@pytest.mark.parametrize(
    "path",
    [
        ("timer", "local_timer", ADDRESS),
        ("softirq", "TIMER", ADDRESS),
        ("thread", "ksoftirqd/2", "TIMER", ADDRESS),
        ("thread", "kworker/2:1", ADDRESS),
        ("ipi", "call_function_single", ADDRESS),
        ("nmi", ADDRESS),
    ],
)
def test_an_address_is_no_cause(path: tuple[str, ...]) -> None:
    assert rules(*path) == ["nameless-function"]
    assert rules(path[0], path[1], ran=path) == ["nameless-function"]


def test_a_task_that_is_called_so_is_a_task() -> None:
    assert rules("thread", ADDRESS[:15]) == ["other-program"]


def test_the_tick_is_an_address_and_has_no_trigger() -> None:
    one = RecordReader(layout(), names({}))
    row = {"source": "hrtimer", "parent_source": "local_timer", "id": int(ADDRESS, 16), "cpu": 2}
    (tick,) = one.read(events({**row, "gross_ns": 9, "net_ns": 9, "victim_tid": 7}), last=True)
    assert one.namer.sources[tick["source"]].path == ("timer", "local_timer", ADDRESS)
    assert not one.join.triggers[tick["trigger"]].context
