"""Our counts against the kernel's, and the arithmetic of nested time, under load on every CPU."""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from noisetop.counters.left_out import CHEAP, LEFT_OUT, LOCAL, NO_BUDGET, TIMERS, Budget
from noisetop.counters.losses import LOSSES
from noisetop.counters.overhead import OVERHEAD
from noisetop.counters.unavailable import UNAVAILABLE
from noisetop.events.interruption import UNATTRIBUTED, Flag, Interruptions, Source
from noisetop.events.trigger import Trigger
from noisetop.machine import system
from noisetop.machine.proc_interrupts import softirq_names
from noisetop.recording.raw_file import SpoolWriter, read_spool
from noisetop.recording.recording import Recording
from noisetop.summary.recorded import summary_of
from noisetop.summary.summarizer import Summarizer
from noisetop.summary.summary import Summary
from noisetop.summary.trigger_totals import TriggerSummary
from noisetop.tracing.program_sets import program_set
from noisetop.tracing.target import Target
from noisetop.tracing.tracer import Tracer
from tests.kernel import books
from tests.kernel.loads import stress, workload

pytestmark = pytest.mark.kernel

# Of the full load: emulation carries no more than a part of it.
SHARE = float(os.environ.get("NOISETOP_LOAD_SHARE", "1"))
SECONDS = 2
ENOUGH = SHARE * SECONDS / 10
THREAD_LEVEL, SOFTIRQ_LEVEL = 0, 2
RARE = 1e-4
AGREE = 64
"""ns, by which sums of times may differ."""
ROWS = {"LOC": ["local_timer"], "RES": ["reschedule"], "IWI": ["irq_work"]}
FUNCTION_CALLS = ["call_function", "call_function_single"]


@dataclass
class Loaded:
    """One recording under load, with the kernel's books around its two edges."""

    recording: Recording
    table: Interruptions
    live: Summary
    counted_noise_ns: int
    """What the drain thread counted, for the progress line."""
    before: tuple[books.Books, books.Books]
    after: tuple[books.Books, books.Books]
    slices_of_init: int
    """Some guests' kernels hide an interrupt in each of these from its tracepoint, in long ones
    more."""
    hidden_share: float
    """Of the time, what these took."""

    @property
    def sources(self) -> list[Source]:
        return self.recording.sources

    def bounds(self, *rows: str, cpu: int) -> tuple[int, int]:
        """What the kernel counted at least and at most between the edges."""
        key = [(row, cpu) for row in rows]
        least = sum(self.after[0].get(k, 0) - self.before[1].get(k, 0) for k in key)
        most = sum(self.after[1].get(k, 0) - self.before[0].get(k, 0) for k in key)
        # Twice as often in the long ones as otherwise.
        hidden = self.slices_of_init + math.ceil(2 * self.hidden_share * least)
        return least - hidden, most


PARTS = [CHEAP, *(pytest.param(one, marks=pytest.mark.thorough) for one in (LOCAL, TIMERS))]
SETS = ["complete", *PARTS] if SHARE == 1 else ["complete"]
"""In emulation one, as the others attach a part of the same programs."""


@pytest.fixture(scope="module", params=SETS)
def loaded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    """Under each set of programs: what it sees adds up."""
    steps = (TIMERS,) if request.param == TIMERS else ()
    programs = program_set([request.param], Budget(1, steps) if steps else NO_BUDGET)
    path = tmp_path_factory.mktemp("loaded") / "loaded.noisetop"
    cpus = system.online_cpus()
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(path.open("w+b", buffering=0))
        tracer = stack.enter_context(
            Tracer(
                Target(cpus),
                spool_fd=file.fileno(),
                keep_batches=True,
                ring_records=1 << 17,
                programs=programs,
            )
        )
        writer = SpoolWriter(tracer.layout, tracer)
        about = LEFT_OUT.to_file(tracer.left_out)
        metadata = {**system.describe(), "own_pid": tracer.own_pid, **about}
        writer.write_head(metadata, tracer.names, cpus)
        frequency = str(round(5000 * SHARE))
        stack.enter_context(stress("--timer", "1", "--timer-freq", frequency, "--sock", "1"))
        stack.enter_context(
            stress("--hdd", "1", "--hdd-bytes", "16m", "--temp-path", str(path.parent))
        )
        stack.enter_context(workload("membarrier", cpus[-1], cpus[0], round(2000 * SHARE)))
        for cpu in system.isolated_cpus():  # nothing comes there by itself
            stack.enter_context(workload("timerfd", cpu, cpus[0], round(2000 * SHARE)))
        before = books.everything()
        tracer.start_window()
        before_too = books.everything()
        slices, hidden_ns = books.slices_of_init(), books.run_time_of_init_ns()
        reader = tracer.reader
        live = Summarizer(cpus, reader.namer.sources, reader.join.triggers, tracer.directory)
        # Reading takes time as well, in emulation so long that there would be ever more to read.
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            time.sleep(1)
            live.add(tracer.read())
        after = books.everything()
        tracer.stop_window()
        after_too = books.everything()
        live.add(tracer.read())
        slices = books.slices_of_init() - slices
        hidden_ns = books.run_time_of_init_ns() - hidden_ns
        noise_ns = tracer.noise_ns
        counters = tracer.window_counters()
        writer.write_end(tracer.end_ns, counters, "")
        summary = live.summary(
            tracer.start_ns, tracer.end_ns, counters,
            tracer.reader.tasks, tracer.reader.waits.by_task(),
        )  # fmt: skip
    recording = read_spool(path)
    table = np.concatenate(list(recording.chunks()))
    return Loaded(
        recording, table, summary, noise_ns, (before, before_too), (after, after_too),
        slices, hidden_ns / recording.duration_ns,
    )  # fmt: skip


def count(loaded: Loaded, cpu: int, *names: str, level: int | None = None) -> int:
    """Events on a CPU whose path ends in one of the names; one in segments is one. Without
    callbacks an interrupt has the function that it ran as its own last step."""
    cheap = CHEAP in loaded.recording.counters.of(LEFT_OUT).options
    called = [cheap and source.noise_class == "ipi" for source in loaded.sources]
    paths = [
        one.path[: 2 if own else None] for one, own in zip(loaded.sources, called, strict=True)
    ]
    wanted = [i for i, path in enumerate(paths) if path[-1] in names]
    table = loaded.table[loaded.table["cpu"] == cpu]
    table = table[table["flags"] & Flag.CONTINUED == 0]
    if level is not None:
        table = table[table["level"] == level]
    return int(np.isin(table["source"], wanted).sum())


def test_nothing_is_lost(loaded: Loaded) -> None:
    """An emulated CPU takes so long for a program that an interrupt may want the same one in the
    middle of it, which the kernel refuses, and which is told."""
    losses = loaded.recording.counters.of(LOSSES)
    if ENOUGH < 1:
        assert losses.recursion_misses <= len(loaded.table) / 10_000
        losses = replace(losses, recursion_misses=0)
    assert losses.total == 0
    assert len(loaded.table) > 20_000 * ENOUGH, "the load made too little noise to prove anything"


def device_interrupts(loaded: Loaded, cpu: int, number: str) -> int:
    """Events of an interrupt line on a CPU."""
    wanted = [
        i
        for i, source in enumerate(loaded.sources)
        if source.path[:-1] == ("irq",) and source.path[1].split()[0] == number
    ]
    return int(((loaded.table["cpu"] == cpu) & np.isin(loaded.table["source"], wanted)).sum())


@pytest.mark.parametrize("cpu", system.online_cpus())
def test_device_interrupts(loaded: Loaded, cpu: int) -> None:
    for number in sorted({row for row, _ in loaded.before[0] if row.isdigit()}):
        least, most = loaded.bounds(number, cpu=cpu)
        seen = device_interrupts(loaded, cpu, number)
        assert least <= seen <= most, f"interrupt {number} on CPU {cpu}"


def test_there_were_device_interrupts(loaded: Loaded) -> None:
    numbers = {row for row, _ in loaded.before[0] if row.isdigit()}
    assert any(device_interrupts(loaded, cpu, n) for n in numbers for cpu in system.online_cpus())


@pytest.mark.parametrize("cpu", system.online_cpus())
@pytest.mark.parametrize("row", ROWS)
def test_vectors(loaded: Loaded, cpu: int, row: str) -> None:
    least, most = loaded.bounds(row, cpu=cpu)
    assert least <= count(loaded, cpu, *ROWS[row]) <= most


@pytest.mark.parametrize("cpu", system.online_cpus())
def test_function_calls(loaded: Loaded, cpu: int) -> None:
    least, most = loaded.bounds("CAL", cpu=cpu)
    assert least <= count(loaded, cpu, *FUNCTION_CALLS) <= most


def test_there_were_function_calls(loaded: Loaded) -> None:
    if len(system.online_cpus()) == 1:  # there is nobody to call
        assert count(loaded, 0, *FUNCTION_CALLS) == 0
        return
    unnamed = "csd_function" in loaded.recording.counters.of(UNAVAILABLE)
    unnamed |= CHEAP in loaded.recording.counters.of(LEFT_OUT).options
    names = FUNCTION_CALLS if unnamed else ["ipi_mb"]
    assert count(loaded, max(system.online_cpus()), *names) > 1000 * ENOUGH


@pytest.mark.parametrize("cpu", system.online_cpus())
@pytest.mark.parametrize("vector", softirq_names())
def test_softirqs(loaded: Loaded, cpu: int, vector: str) -> None:
    least, most = loaded.bounds(vector, cpu=cpu)
    assert least <= count(loaded, cpu, vector, level=SOFTIRQ_LEVEL) <= most


def test_net_time_is_never_negative_nor_above_gross(loaded: Loaded) -> None:
    assert (loaded.table["net_ns"] <= loaded.table["gross_ns"]).all()
    assert sum(c["negative"] for c in loaded.recording.counters.of(LOSSES).by_cpu.values()) == 0


def test_net_time_fits_into_the_wall(loaded: Loaded) -> None:
    for cpu in loaded.recording.cpus:
        mine = loaded.table[loaded.table["cpu"] == cpu]
        assert 0 < int(mine["net_ns"].sum()) <= loaded.recording.duration_ns


def net_time_inside(rows: Interruptions) -> npt.NDArray[np.int64]:
    """Of each row of a CPU, the net time of all that began and ended within it.

    What ended meanwhile is a difference of running sums; less what began before, for a wait, and so
    a frame, may begin inside an interrupt.
    """
    starts, ends = rows["start_ns"], rows["start_ns"] + rows["gross_ns"]
    order = np.argsort(ends, kind="stable")
    first = np.searchsorted(ends[order], starts, side="right")
    last = np.searchsorted(ends[order], ends, side="left")
    sums = np.concatenate([[0], np.cumsum(rows["net_ns"][order], dtype=np.int64)])
    inside: npt.NDArray[np.int64] = sums[last] - sums[first]
    for i in np.flatnonzero(inside > (rows["gross_ns"] - rows["net_ns"]).astype(np.int64) + AGREE):
        ended = order[first[i] : last[i]]
        inside[i] -= int(rows["net_ns"][ended][starts[ended] < starts[i]].sum())
    return inside


def test_parents_hold_their_children(loaded: Loaded) -> None:
    """Gross minus net of each interval is the net time of all that lies inside it. A thread that
    runs while another CPU wakes a victim begins with that wake-up: where it falls between the end
    of an interruption and its accounting, the end of that is counted twice."""
    late = []
    for cpu in loaded.recording.cpus:
        mine = loaded.table[loaded.table["cpu"] == cpu]
        nested = (mine["gross_ns"] - mine["net_ns"]).astype(np.int64)
        parents = nested > 0
        assert np.count_nonzero(parents) > 1000 * ENOUGH
        beyond = parents & (net_time_inside(mine) > nested + AGREE)
        assert (mine["level"][beyond] == THREAD_LEVEL).all(), mine[beyond]
        late += mine[beyond].tolist()
    assert len(late) <= max(RARE * len(loaded.table), 1), late


def tasks_with_several_names(*summaries: Summary) -> set[int]:
    """A task that starts a program changes its name. The record that tells so may come through the
    ring of another CPU than who acted under it, and then the live view is a moment late."""
    names: dict[int, set[str]] = {}
    for summary in summaries:
        for trigger in (t for cpu in summary.cpus for s in cpu.sources for t in s.triggers):
            names.setdefault(trigger.trigger.tid, set()).add(trigger.trigger.task)
    return {tid for tid, known in names.items() if len(known) > 1}


def alike(
    triggers: Iterable[TriggerSummary], several: set[int]
) -> dict[Trigger, tuple[int, int, int]]:
    """Count, sum and longest by trigger, tasks with several names without them."""
    figures: dict[Trigger, tuple[int, int, int]] = {}
    for one in triggers:
        trigger = one.trigger
        if trigger.tid in several:
            trigger = trigger._replace(task="")
        name, _, tid = trigger.origin.rpartition(" ")
        if name and int(tid) in several:
            trigger = trigger._replace(origin=tid)
        count, net_ns, max_ns = figures.get(trigger, (0, 0, 0))
        longest = max(max_ns, one.max_ns)
        figures[trigger] = (count + one.count, net_ns + one.net_ns, longest)
    return figures


def test_the_noise_so_far_is_that_of_the_recording(loaded: Loaded) -> None:
    """What no event accounts for is known only once it is over."""
    summary = summary_of(loaded.recording)
    accounted = [
        one.net_ns for cpu in summary.cpus for one in cpu.sources if one.source != UNATTRIBUTED
    ]
    assert loaded.counted_noise_ns == sum(accounted)


def test_every_function_has_its_name(loaded: Loaded) -> None:
    """Only what is said for the first time is looked at while a recording grows."""
    functions = [one.path[-1] for one in loaded.sources if one.noise_class in ("timer", "ipi")]
    assert [name for name in functions if name.startswith("0x")] == []


def test_live_equals_recorded(loaded: Loaded) -> None:
    recorded = summary_of(loaded.recording)
    several = tasks_with_several_names(recorded, loaded.live)
    assert recorded.duration_ns == loaded.live.duration_ns
    assert recorded.waits == loaded.live.waits
    for ours, theirs in zip(recorded.cpus, loaded.live.cpus, strict=True):
        assert ours.noise_ns == theirs.noise_ns
        assert ours.idle_ns == theirs.idle_ns
        assert ours.max_single_ns == theirs.max_single_ns
        assert ours.max_single_start_ns == theirs.max_single_start_ns
        by_source = {(one.source, one.origin): one for one in theirs.sources}
        for one in ours.sources:
            theirs_too = by_source[one.source, one.origin]
            ours_alike, theirs_alike = (
                alike(one.triggers, several),
                alike(theirs_too.triggers, several),
            )
            assert ours_alike == theirs_alike, one.source.path
            assert replace(one, triggers=()) == replace(theirs_too, triggers=())
        assert len(by_source) == len(ours.sources)
        for a, b in zip(ours.sources, theirs.sources, strict=True):
            assert (a.histogram == b.histogram).all()


def test_the_file_has_what_was_counted(loaded: Loaded, tmp_path: Path) -> None:
    assert loaded.recording.damage == ""
    assert loaded.recording.counters.of(OVERHEAD).cpu_ns > 0
    assert os.uname().release == loaded.recording.metadata["kernel"]
