"""Causes while they are traced: the same as of the recording, and only while they are wanted."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from noisetop.diagnosis import diagnose
from noisetop.diagnosis.evidence import evidence_of
from noisetop.events.waits import WaitBook
from noisetop.live.causes import LiveCauses
from noisetop.recording.open import open_recording
from noisetop.summary.recorded import summary_of
from tests.recordings import DATA, START_NS

SECOND_NS = 1_000_000_000


@dataclass
class Reading:
    """What is known of a reader: its lists."""

    sources: Any
    triggers: Any
    namer: Any = field(init=False)
    join: Any = field(init=False)

    def __post_init__(self) -> None:
        self.namer = SimpleNamespace(sources=self.sources)
        self.join = SimpleNamespace(triggers=self.triggers)


SECOND_NS = 1_000_000_000


def test_live_equals_recorded() -> None:
    recorded = open_recording(DATA / "noisy.noisetop")
    reader: Any = Reading(recorded.sources, recorded.triggers)
    causes = LiveCauses(reader, recorded.cpus, recorded.directory)
    causes.want(wanted=True)
    end_ns = recorded.start_ns + recorded.duration_ns
    tables = list(recorded.chunks())
    for table in tables[:-1]:
        causes.add(table, recorded.start_ns - SECOND_NS)
    causes.restart()
    for table in tables:
        causes.add(table, recorded.start_ns)
    causes.judge(WaitBook(), end_ns)
    assert causes.latest is not None
    offline = diagnose(evidence_of(recorded))
    # Waits are told apart from the tables, and only a recording of a machine knows priorities.
    expected = [(one.key, one.net_ns, one.count) for one in offline.findings if one.net_ns]
    assert [(one.key, one.net_ns, one.count) for one in causes.latest.findings] == expected
    assert causes.latest.evidence.noise_ns == summary_of(recorded).noise_ns


@pytest.mark.parametrize(
    ("took_ns", "judged"), [(0, [1, 6, 11, 16]), (30_000_000, [1, 6, 16])], ids=["quick", "slow"]
)
def test_it_judges_seldom_and_forgets_when_it_is_not_wanted(
    took_ns: int, judged: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What takes long is done less often, but for the first time, which is of one interval."""
    clock = itertools.count(0, took_ns)
    monkeypatch.setattr("noisetop.live.causes.time.thread_time_ns", lambda: next(clock))
    recorded = open_recording(DATA / "unloaded.noisetop")
    reader: Any = Reading(recorded.sources, recorded.triggers)
    causes = LiveCauses(reader, recorded.cpus, recorded.directory)
    (table,) = recorded.chunks()
    seen = []
    for second in range(18):
        start_ns = START_NS + second * SECOND_NS
        causes.want(wanted=second != 0)
        causes.add(table, start_ns)
        causes.judge(WaitBook(), start_ns + SECOND_NS)
        seen.append(causes.latest)
    assert seen[0] is None
    assert [at for at in range(1, 18) if seen[at] is not seen[at - 1]] == judged
    causes.want(wanted=False)
    causes.add(table, START_NS)
    causes.judge(WaitBook(), START_NS + SECOND_NS)
    assert causes.latest is None
