"""What a calibration of the entry costs tells, whom it disturbs, and where it is kept."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from noisetop.counters.calibration import KINDS, MEASURED
from noisetop.events.symbols import read_kallsyms
from noisetop.machine import affinity
from noisetop.probe.calibrate import CalibrationSettings, measure_cpus
from noisetop.probe.entry_costs import entry_costs
from noisetop.probe.sampler import Disturb
from noisetop.session import run_calibration
from noisetop.tracing.stopper import Stopper
from noisetop.tracing.target import Target
from tests.kernel.forked import run
from tests.kernel.program import read
from tests.kernel.spinning import CPU, HOUSE, spinning

pytestmark = pytest.mark.kernel

SECOND_NS = 1_000_000_000
SLICE_NS = 250_000


@pytest.fixture
def stopper() -> Iterator[Stopper]:
    one = Stopper()
    yield one
    one.close()


def test_every_kind_is_told(stopper: Stopper) -> None:
    entries = entry_costs(measure_cpus([CPU], SECOND_NS // 2, HOUSE, stopper))
    assert list(entries) == list(KINDS)
    for kind in ("timer", "call_function", "reschedule", "softirq", "switch", "fault"):
        assert entries[kind].cost.source == MEASURED, kind
        cost = entries[kind].cost
        # A softirq enters nothing: a few samples may tell no more than what it is at most.
        assert (cost.high_ns if kind == "softirq" else cost.entry_ns) > 0, kind
    # A fault enters the kernel and no hypervisor; a softirq enters nothing at all.
    assert entries["fault"].cost.entry_ns < entries["timer"].cost.entry_ns
    assert entries["softirq"].cost.entry_ns < entries["timer"].cost.entry_ns


def test_a_calibration_reaches_no_other_cpu() -> None:
    """As while a run starts: what is done thousands of times reaches only the CPU of the thread.

    Now and then the kernel wakes a thread of its own, as for RCU, which may be anywhere.
    """
    kinds = CalibrationSettings(HOUSE[0], SECOND_NS, HOUSE[:1], faults=True).disturb
    assert not kinds & (Disturb.CALL | Disturb.WAKE)
    affinity.bind(HOUSE)  # before the fork, as measure() does
    with spinning(HOUSE[0], kinds, SECOND_NS // 2, SLICE_NS) as (process, tracer):
        table = tracer.read()
        [spin] = process.results()
        triggers, sources = tracer.reader.join.triggers, tracer.reader.namer.sources
    assert spin.usage.minor_faults > 1_000
    ours = [number for number, one in enumerate(triggers) if one.task.startswith("noisetop-")]
    reached = np.isin(table["trigger"], ours)
    assert reached.sum() < 10, {sources[number] for number in table["source"][reached]}
    assert not [one for one in sources if one.path[1].startswith("noisetop-")]


def test_a_run_that_finds_none_makes_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stopper: Stopper
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(run_calibration, "SYSTEM_FOLDER", tmp_path)
    start = run_calibration.RunCalibration(Target((CPU,)), HOUSE, faults=False, compiled=False)
    found = start.find(read_kallsyms(), stopper, print)
    timer, call = found.entry("timer"), found.entry("call_function")
    assert timer
    assert call
    assert timer.source == MEASURED
    assert (call.source == MEASURED) == (len(HOUSE) > 1)  # a second CPU
    assert not list(tmp_path.iterdir())


@pytest.mark.side_by_side
def test_what_was_calibrated_is_in_later_recordings(tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    calibrate = ("probe", "calibrate", "-c", str(CPU), "-d", "500ms", "--json")
    done = run(*calibrate, env=environment)
    assert not done.returncode, done.stderr
    told = json.loads(done.stdout)["calibration"]
    for cost in told.values():
        assert (cost.pop("samples") > 0) == (cost["source"] == MEASURED)
    output = tmp_path / "run.noisetop"
    done = run("record", "-c", str(CPU), "-d", "200ms", "-o", output, env=environment)
    assert not done.returncode, done.stderr
    assert json.loads(read("report", output, "--json").stdout)["calibration"] == told
