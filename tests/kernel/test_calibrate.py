"""Net time and entry costs together are what a spinning thread loses (identity 9)."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from noisetop.counters.calibration import KINDS, MEASURED, Calibration
from noisetop.events.interruption import Flag
from noisetop.events.symbols import read_kallsyms
from noisetop.gaps.explain import explain
from noisetop.gaps.gaps import Gaps
from noisetop.machine import affinity
from noisetop.probe.calibrate import CalibrationSettings, measure, measure_cpus
from noisetop.probe.clock import fit_clock
from noisetop.probe.entry_costs import entry_costs, own_events
from noisetop.probe.sampler import Disturb, SpinProcess, clock_pair
from noisetop.session import run_calibration
from noisetop.summary.cost import entry_kind
from noisetop.tracing.stopper import Stopper
from noisetop.tracing.target import Target
from noisetop.tracing.tracer import Tracer
from tests.kernel.program import run

pytestmark = pytest.mark.kernel

CPU = max(os.sched_getaffinity(0))
HOUSE = tuple(sorted(os.sched_getaffinity(0) - {CPU}))
SECOND_NS = 1_000_000_000
SLICE_NS = 250_000
LONG_NS = 1_000
FOREIGN_NS = 100_000
"""Gaps that are longer than that come from others: from another load, or from the hypervisor."""
ROUNDS = 5
"""The one in the middle counts: where a machine's speed changes, one or two rounds are off."""
LEAST, MOST = 0.85, 1.15
THREADS = Disturb.SLEEP | Disturb.WAKE | Disturb.TIMEOUT
LOADS = {
    "calls": Disturb.CALL,
    "timers": Disturb.TIMER,
    "threads": THREADS,
    "all": Disturb.CALL | Disturb.TIMER | THREADS,
}


@pytest.fixture
def stopper() -> Iterator[Stopper]:
    one = Stopper()
    yield one
    one.close()


def calibrated(stopper: Stopper) -> Calibration:
    entries = entry_costs(measure(CalibrationSettings(CPU, SECOND_NS // 2, HOUSE), stopper))
    return Calibration({kind: entry.cost for kind, entry in entries.items()})


@contextmanager
def spinning(cpu: int, load: Disturb, length_ns: int) -> Iterator[tuple[SpinProcess, Tracer]]:
    """A thread on ``cpu`` that has spun under a load, and what traced CPU meanwhile."""
    with (
        SpinProcess((cpu,), capacity=1 << 17, disturb=load, sender_cpu=HOUSE[0]) as process,
        Tracer(Target((CPU,)), housekeeping=HOUSE, samples_cost=False) as tracer,
    ):
        tracer.start_window()
        begin, rate = clock_pair().after_ticks, ticks_per_ns()
        process.begin(
            begin,
            begin + round(length_ns * rate),
            round(LONG_NS * rate),
            busy_ticks=round(SLICE_NS * rate) if load & (Disturb.TIMER | Disturb.FAULT) else 0,
        )
        while not process.done():
            time.sleep(0.02)
        tracer.stop_window()
        yield process, tracer


def ticks_per_ns() -> float:
    first = clock_pair()
    time.sleep(0.02)
    second = clock_pair()
    return (second.before_ticks - first.before_ticks) / (second.ns - first.ns)


def shares(load: Disturb, calibration: Calibration) -> tuple[float, float]:
    """Of the time of a spinning thread's gaps: net time of the events in them, and their cost."""
    with spinning(CPU, load, SECOND_NS) as (process, tracer):
        table, sources = tracer.read(), tracer.reader.namer.sources
        [spin] = process.results()
    clock = fit_clock([spin.began, spin.ended])
    gaps = Gaps(clock.to_ns(spin.starts), clock.to_ns(spin.ends), 0)
    found = explain(gaps, own_events(table, sources, spin.tid), sources)
    counted = (found.event_ns > 0) & (gaps.length_ns < FOREIGN_NS)
    entries = found.inside[(found.inside["flags"] & Flag.ENTRY != 0) & counted[found.gap_of]]
    entry_ns = 0
    for source, count in zip(*np.unique(entries["source"], return_counts=True), strict=True):
        cost = calibration.entry(entry_kind(sources[int(source)]))
        entry_ns += int(count) * cost.entry_ns if cost else 0
    lost_ns, net_ns = int(gaps.length_ns[counted].sum()), int(found.event_ns[counted].sum())
    return net_ns / lost_ns, (net_ns + entry_ns) / lost_ns


@pytest.mark.parametrize("load", LOADS.values(), ids=LOADS.keys())
def test_cost_is_what_a_spinning_thread_loses(load: Disturb, stopper: Stopper) -> None:
    ratios = []
    for _ in range(ROUNDS):
        net, cost = shares(load, calibrated(stopper))
        ratios.append(cost)
        print(f"of the gaps: net {net:.2f}, cost {cost:.2f}")
    assert LEAST <= sorted(ratios)[ROUNDS // 2] <= MOST, ratios


def test_every_kind_is_told(stopper: Stopper) -> None:
    entries = entry_costs(measure_cpus([CPU], 2 * SECOND_NS, HOUSE, stopper))
    assert list(entries) == list(KINDS)
    for kind in ("timer", "call_function", "reschedule", "softirq", "switch", "fault"):
        assert entries[kind].cost.source == MEASURED, kind
        assert entries[kind].cost.entry_ns > 0, kind
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
    with spinning(HOUSE[0], kinds, SECOND_NS) as (process, tracer):
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
    found = start.find(read_kallsyms(), stopper)
    timer, call = found.entry("timer"), found.entry("call_function")
    assert timer
    assert call
    assert timer.source == MEASURED
    assert (call.source == MEASURED) == (len(HOUSE) > 1)  # a second CPU
    assert not list(tmp_path.iterdir())


def test_what_was_calibrated_is_in_later_recordings(tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    calibrate = ("probe", "calibrate", "-c", str(CPU), "-d", "2s", "--json")
    done = run(*calibrate, env=environment)
    assert not done.returncode, done.stderr
    told = json.loads(done.stdout)["calibration"]
    for cost in told.values():
        assert (cost.pop("samples") > 0) == (cost["source"] == MEASURED)
    output = tmp_path / "run.noisetop"
    done = run("record", "-c", str(CPU), "-d", "200ms", "-o", output, env=environment)
    assert not done.returncode, done.stderr
    assert json.loads(run("report", output, "--json").stdout)["calibration"] == told
