"""The sets of programs: what each one leaves out is unknown then, and never told wrong."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from noisetop.counters.left_out import CHEAP, LOCAL
from noisetop.events.interruption import Interruptions
from noisetop.events.origin import Origin
from noisetop.machine import system
from noisetop.tracing.program_sets import program_set
from noisetop.tracing.target import Target
from noisetop.tracing.tracer import Tracer
from tests.kernel.forked import run
from tests.kernel.loads import prepared
from tests.kernel.program import read
from tests.kernel.provoked import favoured
from tests.kernel.test_waits import assert_equal_to_the_kernels, delays
from tests.kernel.tracing import Traced, trace

pytestmark = pytest.mark.kernel

CPUS = system.online_cpus()
VICTIM_CPU, SENDER_CPU = max(CPUS), min(CPUS)
SHARE = 0.99
ENOUGH = 300
"""Of 1000 wake-ups: some find their thread awake still."""
CONTEXT = 1 << 24
"""Above any tid: NOISE_WAKER_CONTEXT."""
RAISERS = {"who raises softirqs"}
CALLING = ("irq", "softirq", "timer")
"""Classes that run callbacks of which no sender tells."""
SETS = [[], [LOCAL], [CHEAP], [LOCAL, CHEAP]]
sets = pytest.mark.parametrize("options", SETS, ids=["complete", "local", "cheap", "both"])


def traced_with(options: list[str], *acts: str) -> tuple[dict[str, int], Traced]:
    with prepared(VICTIM_CPU, SENDER_CPU, *acts) as load:
        return load.tids, trace(Target((VICTIM_CPU,)), load.run, programs=program_set(options))


def has_senders() -> bool:
    """Whether this kernel tells what is queued for another CPU."""
    with Tracer(Target((VICTIM_CPU,)), samples_cost=False) as tracer:
        return "csd_queue_cpu" not in tracer.unavailable()


def unknown_here(option: str) -> list[str]:
    """What is unknown with an option on this kernel."""
    programs = program_set([option])
    with Tracer(Target((VICTIM_CPU,)), programs=programs, samples_cost=False) as tracer:
        return list(tracer.left_out.unknown)


def of_class(traced: Traced, name: str) -> Interruptions:
    """Interruptions of a class."""
    wanted = [i for i, source in enumerate(traced.sources) if source.noise_class == name]
    rows: Interruptions = traced.table[np.isin(traced.table["source"], wanted)]
    return rows


def wakers(options: list[str]) -> tuple[int, Counter[int], Counter[int]]:
    """Of a thread that another CPU wakes: who that is, and how often the records name whom, on
    which CPU."""
    programs = program_set(options)
    with (
        prepared(VICTIM_CPU, SENDER_CPU, "wake-urgent:2000:1000") as load,
        Tracer(Target((VICTIM_CPU,)), programs=programs, samples_cost=False) as tracer,
    ):
        tracer.start_window()
        load.run()
        tracer.stop_window()
        records = tracer.read_records()
        layout, reader = tracer.layout, tracer.reader
    reader.read(*records.all, last=True)
    urgent = [tid for tid, name in reader.tasks.items() if name == "urgent"]
    waits = np.concatenate(records.waits)
    waits = waits[waits["flags"] == layout.flags["WAIT"]]
    woken = waits[waits["level"] == list(layout.wait_reasons).index("woken")]
    mine = woken[np.isin(woken["tid"], urgent)]
    who = mine["id"] & np.uint64(0xFFFFFFFF)
    return load.tids["wake-urgent"], Counter(who.tolist()), Counter(mine["parent_id"].tolist())


def test_a_wake_up_from_another_cpu_names_its_waker() -> None:
    """An idle target carries the wake-up out itself, in an interrupt or its idle loop."""
    tid, who, where = wakers([])
    count = sum(who.values())
    assert count >= ENOUGH
    assert who[tid] >= count * SHARE, who
    assert where[SENDER_CPU] >= count * SHARE, where


def test_who_is_not_asked_is_not_named() -> None:
    """Without the senders nobody knows for whom the target wakes a task in an interrupt."""
    tid, who, _ = wakers([LOCAL])
    count = sum(who.values())
    assert count >= ENOUGH
    assert who[0] + who[tid] >= count * SHARE, who
    assert not [one for one in who if one > CONTEXT], who


@pytest.mark.side_by_side
@sets
def test_what_is_left_out_is_not_there(options: list[str]) -> None:
    """And nothing else is missing."""
    programs = program_set(options)
    with Tracer(Target((VICTIM_CPU,)), programs=programs, samples_cost=False) as tracer:
        known = {program["name"]: program for program in tracer._session.programs()}
        assert set(programs.programs) <= known.keys()
        left_out = {name for name, program in known.items() if not program["wanted"]}
        assert set(programs.programs) <= left_out
        assert not any(known[name]["loaded"] for name in left_out)
        missing = tracer.unavailable()
    with Tracer(Target((VICTIM_CPU,)), samples_cost=False) as tracer:
        assert set(missing) <= set(tracer.unavailable())


def test_without_the_senders_nobody_is_named() -> None:
    _, traced = traced_with([LOCAL], "membarrier:4000:1000", "timerfd:0:500", "flood:2000:500")
    for rows in (of_class(traced, "ipi"), traced.rows("…", "timerfd_tmrproc")):
        assert len(rows) >= 50
        assert set(rows["trigger"].tolist()) == {0}
        assert set(rows["origin"].tolist()) == {Origin.UNATTRIBUTED}
    packets = traced.rows("softirq", "NET_RX")
    told = not RAISERS.intersection(unknown_here(LOCAL))
    assert any(packets["trigger"]) == told, traced.causes(packets)


def test_without_callbacks_there_is_no_third_step() -> None:
    _, traced = traced_with([CHEAP], "timerfd:0:500", "membarrier:4000:1000")
    paths = {traced.sources[number].path for number in np.unique(traced.table["source"]).tolist()}
    assert not [path for path in paths if path[0] in CALLING and len(path) > 2]
    assert len(of_class(traced, "ipi")) >= 50
    timers = traced.rows("timer", "local_timer")
    assert set(timers["origin"].tolist()) <= {Origin.UNATTRIBUTED}


@pytest.mark.parametrize(("kind", "function"), [("membarrier", "ipi_mb"), ("munmap", "flush_tlb")])
def test_without_callbacks_the_sender_tells_the_function(kind: str, function: str) -> None:
    """Where an interrupt can have run only one. Others may interrupt meanwhile, and then some are
    not told; a thread that does one thing is never said to have done another."""
    tids, traced = traced_with([CHEAP], f"{kind}:4000:1000")
    rows = of_class(traced, "ipi")
    calls = [i for i, one in enumerate(traced.sources) if "call_function" in "".join(one.path)]
    mine = rows[(traced.tids(rows) == tids[kind]) & np.isin(rows["source"], calls)]
    names = {traced.sources[number].path[-1] for number in np.unique(mine["source"]).tolist()}
    if not has_senders():
        assert not len(mine)
        return
    assert len(mine) >= 50
    assert all(name.startswith(function) for name in names), names
    assert (mine["trigger_ns"] <= mine["start_ns"]).all()
    assert set(mine["origin"].tolist()) <= {Origin.OTHERS, Origin.PROGRAM}


@pytest.mark.parametrize(
    "options",
    # The complete set is that of test_waits.py.
    [[LOCAL], [CHEAP], pytest.param([LOCAL, CHEAP], marks=pytest.mark.thorough)],
    ids=["local", "cheap", "both"],
)
def test_waits_equal_the_kernels(options: list[str]) -> None:
    acts = ["compete:0:1200"] * 4
    with favoured(VICTIM_CPU, SENDER_CPU, *acts, "wake-urgent:40:30") as load:
        before = delays(load)
        target = Target(CPUS, pid=load.pid)
        traced = trace(target, load.run, programs=program_set(options))
        assert_equal_to_the_kernels(traced, before, load)


@pytest.mark.side_by_side
@pytest.mark.parametrize("option", [LOCAL, CHEAP])
def test_what_is_unknown_is_told(option: str, tmp_path: Path) -> None:
    """On the screen before the run, in the report of the file, and in JSON."""
    unknown = unknown_here(option)
    output = tmp_path / "one.noisetop"
    done = run("record", "-c", str(VICTIM_CPU), f"--{option}", "-d", "300ms", "-o", output)
    assert done.returncode == 0, done.stderr
    assert f"--{option}: unknown are {', '.join(unknown)}" in done.stderr
    report = read("report", output, "--json")
    assert json.loads(report.stdout)["left_out"] == {"options": [option], "unknown": unknown}
    text = " ".join(read("report", output).stdout.split())
    assert unknown[0] in text
    live = run("--json", "-c", str(VICTIM_CPU), f"--{option}", "-d", "500ms")
    assert json.loads(live.stdout.splitlines()[0])["left_out"]["options"] == [option]
