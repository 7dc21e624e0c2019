"""Diagnoses of a load while it is traced: what ``noisetop diagnose -p`` says, period by period."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from noisetop.checks import AuditedMachine
from noisetop.diagnosis import Diagnosis, diagnose, saved
from noisetop.diagnosis.document import as_json
from noisetop.diagnosis.evidence import Realtime, evidence_of
from noisetop.events.waits import WaitBook
from noisetop.machine import system
from noisetop.recording.recording import Recording
from noisetop.tracing.target import Target
from noisetop.tracing.tracer import Tracer
from noisetop.version import version
from tests.kernel.loads import PATIENCE_S, Workload, stop
from tests.kernel.provoked import attentive

PERIOD_S = 0.25
SETTLING_S = 0.1
ENOUGH = 20
"""Blocks of a period with interruptions, or waits, before a cause is judged: that it comes in none
later is no chance."""
OF_OTHERS = (
    *("other-program", "guest-threads", "container-service", "system-service", "own-threads"),
    *("disk-interrupt", "disk-completion", "filesystem", "noisetop-itself", "sleep-timer"),
    *("woken-late", "tick-everywhere", "access-monitor-thread"),
)
"""What programs of others on this machine and its host cause, as much as they happen to."""


def document_of(diagnosis: Diagnosis) -> dict[str, Any]:
    """As ``--json`` writes it."""
    text = as_json(diagnosis, (), version=version(), title="", changes=None)
    document: dict[str, Any] = json.loads(text)
    assert document["explained_ns"] + document["unexplained_ns"] == document["total_ns"]
    return document


def summary(document: dict[str, Any]) -> list[tuple[str, int, int]]:
    return [(one["key"], one["net_ns"], one["wait_ns"]) for one in document["findings"][:5]]


def first_finding(document: dict[str, Any], key: str) -> dict[str, Any]:
    """The finding of that key, of which nothing that the test could keep away is more expensive;
    where it is self-inflicted, nothing that is so as well."""
    own = any(one["key"] == key and one["origins"] == ["self"] for one in document["findings"])
    ranked = [
        one
        for one in document["findings"]
        if one["key"] == key
        or not (one["key"].startswith(OF_OTHERS) or (own and one["origins"] != ["self"]))
    ]
    assert ranked, f"{key} is not found: {summary(document)}"
    assert ranked[0]["key"] == key, f"{key} is not the first of {summary(document)}"
    finding: dict[str, Any] = ranked[0]
    return finding


@dataclass
class Period:
    """What was traced since it began."""

    tracer: Tracer
    pid: int

    def __post_init__(self) -> None:
        self.tracer.read()
        self.tracer.reader.waits.clear()
        self._tables = [self.tracer.read()]
        self._counters = self.tracer.counters.read()
        self._start_ns = time.monotonic_ns()
        self._realtime = Realtime.of(AuditedMachine()) or Realtime()

    def diagnose(self) -> Diagnosis:
        """Judges it up to now."""
        self._tables.append(self.tracer.read())
        end_ns, reader = time.monotonic_ns(), self.tracer.reader
        counters = self.tracer.counters
        recording = Recording(
            metadata={**system.describe(), "pid": self.pid},
            cpus=self.tracer.target.cpus,
            start_ns=self._start_ns,
            end_ns=end_ns,
            sources=reader.namer.sources,
            read_chunks=lambda: iter([np.concatenate(self._tables)]),
            triggers=reader.join.triggers,
            waits=WaitBook.of(reader.waits.by_task()),
            stacks=self.tracer.kernel_stacks(),
            counters=counters.between(self._counters, counters.read(), self._start_ns, end_ns),
            tasks=dict(reader.tasks),
            directory=self.tracer.directory,
        )
        machine = AuditedMachine(cpus=recording.cpus, pid=self.pid)
        realtime = self._realtime | (Realtime.of(machine) or Realtime())
        return diagnose(evidence_of(recording, realtime=realtime, machine=machine))


@dataclass
class Traced:
    """A load in action."""

    tracer: Tracer
    pid: int

    def diagnose(self, seconds: float = PERIOD_S) -> Diagnosis:
        """Of so long from now on."""
        period = Period(self.tracer, self.pid)
        time.sleep(seconds)
        return period.diagnose()

    def find(self, key: str) -> Cause:
        """The cause, which has to be the first one once it acted often enough."""
        period, end = Period(self.tracer, self.pid), time.monotonic() + PATIENCE_S
        while True:
            time.sleep(PERIOD_S)
            diagnosis = period.diagnose()
            before = saved.summary_of(diagnosis)
            acted = [one for one in before.findings if one.key == key and _is_enough(one)]
            if acted or time.monotonic() > end:
                return Cause(first_finding(document_of(diagnosis), key), before)

    def assert_gone(self, cause: Cause) -> None:
        """Measures again, from when the remedy works."""
        end = time.monotonic() + PATIENCE_S
        while cause.key in {one.key for one in self.diagnose(SETTLING_S).findings}:
            assert time.monotonic() < end, f"{cause.key} does not go away"
        period = Period(self.tracer, self.pid)
        while True:
            time.sleep(PERIOD_S)
            # Where it acted in few moments, it takes more without it to tell that from chance.
            if cause.change(after := period.diagnose()).significant or time.monotonic() > end:
                break
        cause.assert_gone(after)


def _is_enough(one: saved.Measured) -> bool:
    """Not a number of interruptions: on a busy machine they come in bursts."""
    acted = one.wait_count if one.waits else sum(ns > 0 for ns in one.blocks_ns)
    return acted >= ENOUGH


@dataclass
class Cause:
    """A cause that was named first, and what to compare with later."""

    finding: dict[str, Any]
    before: saved.Saved

    @property
    def key(self) -> str:
        return str(self.finding["key"])

    def assert_gone(self, after: Diagnosis) -> None:
        """Compares with another period."""
        change = self.change(after)
        assert change.verdict is saved.Fate.GONE, change
        assert change.significant, change

    def change(self, after: Diagnosis) -> saved.Change:
        """What became of it in another period."""
        changes = {one.key: one for one in saved.compare(self.before, saved.summary_of(after))}
        return changes[self.key]


@contextlib.contextmanager
def traced(
    load: Workload, cpu: int, housekeeping: int, *, faults: bool = False
) -> Iterator[Traced]:
    """Attaches while all is quiet, then lets the load act until the context ends."""
    target = Target((cpu,), pid=load.pid)
    with Tracer(
        target, stacks=True, faults=faults, housekeeping=(housekeeping,), samples_cost=False,
    ) as tracer:  # fmt: skip
        tracer.start_window()
        with attentive():
            load.begin()
            try:
                yield Traced(tracer, load.pid)
            finally:
                stop(load.process)
