"""Short ways to write down tables of interruptions, recordings of them, and recording files."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from noisetop import _native
from noisetop.counters.calibration import MEASURED, Calibration, EntryCost, taken_from
from noisetop.counters.isolation_changes import IsolationChange
from noisetop.counters.losses import Losses
from noisetop.counters.offline_cpus import OfflineInterval
from noisetop.counters.other_listeners import OTHER_LISTENERS, OtherListeners
from noisetop.counters.overhead import Overhead
from noisetop.counters.period import PeriodCounters
from noisetop.events.interruption import INTERRUPTION, SIDE_LEVEL, Flag, Interruptions, Source
from noisetop.events.layout import Events, Layout
from noisetop.events.source_names import Names
from noisetop.events.symbols import SymbolTable
from noisetop.events.task_directory import Details, TaskDirectory
from noisetop.events.task_names import TaskInfo
from noisetop.events.trigger import Trigger, UserStacks
from noisetop.events.victim_stacks import VictimStacks
from noisetop.events.waits import TaskWait, WaitBook
from noisetop.exporters import recording_output
from noisetop.machine.cgroup_names import CgroupNames
from noisetop.machine.task_details import ProcessDetails
from noisetop.machine.tracepoint_users import TracepointUser
from noisetop.recording.block_file import PlainBlockFile
from noisetop.recording.event_block import packed_events
from noisetop.recording.raw_file import SpoolWriter
from noisetop.recording.recording import Recording
from tests.builders import side_figures

# A busy machine must not fail a test, and a run leaves nothing behind.
settings.register_profile(
    "noisetop",
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("noisetop")

START_NS = 5_000_000_000
SOURCES = (
    Source(("timer", "local_timer")),
    Source(("softirq", "RCU")),
    Source(("irq", "36 virtio1-req.0")),
    Source(("ipi", "call_function_single", "flush_tlb_func")),
    Source(("thread", "kworker/2:1", "vmstat_update")),
    Source(("nmi", "perf_event_nmi_handler")),
)
TRIGGERS = (
    Trigger(),
    Trigger(context="tick"),
    Trigger("stress-ng", 4711, cpu=0, stack=12),
    Trigger("kworker/1:2", 77, cpu=1, work="netstamp_clear", origin="tcpdump 99"),
    Trigger("stress-ng", 4711, cpu=0, stack=13),
)
DATA = Path(__file__).parent / "data"
"""Recordings of a real kernel: 2 s without load, and 0.3 s under stress-ng --timer --sock
--membarrier. Task names that say nothing about noise became ``app``."""
FAULTS = (Source(("fault", "major")), Source(("fault", "major", "asleep")))
HOSTILE = '</title><script>alert(1)</script>\x1b[2J;a"b\\ \n '
LEVELS = {"thread": 0, "softirq": 2, "irq": 4, "ipi": 4, "timer": 4, "nmi": 7}


def interruption(
    start_ns: int,
    gross_ns: int,
    *,
    source: int = 0,
    net_ns: int | None = None,
    cpu: int = 2,
    victim: int = 100,
    tid: int = 100,
    outermost: bool = True,
    flags: int = 0,
    trigger: int = 0,
    trigger_ns: int = 0,
    origin: int = 0,
) -> tuple[int, ...]:
    """A row; ``start_ns`` counts from START_NS, and so does ``trigger_ns`` unless it is 0."""
    return (
        START_NS + start_ns,
        gross_ns,
        gross_ns if net_ns is None else net_ns,
        source,
        victim,
        tid,
        cpu,
        LEVELS[SOURCES[source % len(SOURCES)].noise_class],
        flags | (Flag.OUTERMOST if outermost else 0),
        trigger,
        START_NS + trigger_ns if trigger_ns else 0,
        origin,
    )


def fault(start_ns: int, gross_ns: int, *, source: int, **more: int) -> tuple[int, ...]:
    """The row of a page fault, of a source that the recording has to hold."""
    row = interruption(start_ns, gross_ns, source=source, outermost=False, **more)
    level = (INTERRUPTION.names or ()).index("level")
    return (*row[:level], SIDE_LEVEL, *row[level + 1 :])


def table(*rows: tuple[int, ...]) -> Interruptions:
    """Rows as an array."""
    return np.array(list(rows), INTERRUPTION)


def recording(
    *chunks: Interruptions,
    cpus: tuple[int, ...] = (2, 3),
    duration_ns: int = 1_000_000_000,
    sources: Sequence[Source] = SOURCES,
    triggers: Sequence[Trigger] = TRIGGERS,
    waits: dict[int, TaskWait] | None = None,
    stacks: dict[int, tuple[str, ...]] | None = None,
    user_stacks: UserStacks | None = None,
    victim_stacks: VictimStacks | None = None,
    metadata: dict[str, Any] | None = None,
    counters: PeriodCounters | None = None,
    tasks: dict[int, str] | None = None,
    infos: dict[int, TaskInfo] | None = None,
    details: Details | None = None,
    ended: str = "",
    damage: str = "",
) -> Recording:
    """A recording of these tables."""
    tasks = {100: "victim"} if tasks is None else tasks
    return Recording(
        metadata=metadata or {"host": "box", "kernel": "6.1.0"},
        cpus=cpus,
        start_ns=START_NS,
        end_ns=START_NS + duration_ns,
        sources=list(sources),
        read_chunks=lambda: iter(chunks),
        triggers=list(triggers),
        waits=WaitBook.of(waits or {}),
        stacks=stacks or {},
        user_stacks=user_stacks or {},
        victim_stacks=victim_stacks or VictimStacks(),
        counters=counters or PeriodCounters(),
        tasks=tasks,
        directory=TaskDirectory(tasks, infos or {}, details or Details()),
        ended=ended,
        damage=damage,
    )


def everything() -> Recording:
    """A recording in which nothing is left at its default, and names are hostile."""
    hostile = Source(("thread", HOSTILE, HOSTILE))
    return recording(
        table(
            interruption(120, 200, source=1, net_ns=150, outermost=False),
            interruption(100, 1_000, source=0, net_ns=800, trigger=1),
            interruption(5_000, 70, source=6, tid=7, flags=Flag.THREADED, trigger=5),
            fault(6_000, 900, source=7, net_ns=200),
            fault(6_100, 600, source=8, net_ns=600),
        ),
        table(
            interruption(9_000, 12_345, source=3, cpu=3, victim=0, tid=0),
            interruption(
                40_000_000,
                500_000_000,
                source=2,
                cpu=3,
                victim=4_000_000,
                tid=4_000_000,
                trigger=2,
                trigger_ns=39_999_000,
            ),
        ),
        sources=[*SOURCES, hostile, *FAULTS],
        triggers=[*TRIGGERS, Trigger(HOSTILE, 7, 0, work=HOSTILE, origin=HOSTILE, user_stack=5)],
        waits={
            100: TaskWait({"preempted": 2, "woken": 1}, {"preempted": 3_000, "woken": 5}, 2_000),
            4_000_000: TaskWait({"throttled": 1}, {"throttled": 7}, 7),
        },
        stacks={12: ("smp_call_function_many", HOSTILE)},
        user_stacks={(7, 5): ("send (a.c:1)", HOSTILE), (100, 6): (HOSTILE,)},
        victim_stacks=VictimStacks.of([[2, START_NS + 100, 1_000, 100, 6]]),
        metadata={"host": HOSTILE, "kernel": "6.1.0", "command": "noisetop record", "pid": 0},
        counters=side_figures(
            losses=Losses({2: {"ring_full": 3}, 3: {"ring_full": 0}}, 0, 2, recursion_misses=1),
            overhead=Overhead(5_000_000, 12, 150.5, 10, "0-1"),
            unavailable=("csd_function_entry",),
            offline=(
                OfflineInterval(3, START_NS + 7, None),
                OfflineInterval(4, None, START_NS + 9, watched=False),
            ),
            tick_stops={2: {"stopped": 4, "rcu": 1}, 3: {"stopped": 0, "rcu": 0}},
            calibration=Calibration(
                {
                    "timer": EntryCost(5_000, 4_000, 7_000, MEASURED),
                    "irq": EntryCost(5_000, 4_000, 7_000, taken_from("timer")),
                }
            ),
            isolation=(
                IsolationChange(
                    START_NS + 1_500, f"/sys/fs/cgroup/{HOSTILE}/cpuset.cpus", "2-3", ""
                ),
            ),
        ).with_value(
            OTHER_LISTENERS,
            OtherListeners(
                (
                    TracepointUser("bpf", HOSTILE, 8, (HOSTILE, "softirq_entry")),
                    TracepointUser("ftrace", HOSTILE, 0, ()),
                ),
                (HOSTILE,),
            ),
        ),
        tasks={100: "victim", 4_000_000: HOSTILE},
        infos={100: TaskInfo(99, 1, False, 7, 5), 77: TaskInfo(77, 2, True, 0)},
        details=Details(
            {99: ProcessDetails(HOSTILE, HOSTILE, 1, HOSTILE)},
            {HOSTILE: CgroupNames(HOSTILE, HOSTILE, "docker", HOSTILE, HOSTILE, HOSTILE)},
            {7: HOSTILE},
            {100: 2},
        ),
        ended="the process ended",
        damage="it was cut short",
    )


def all_rows(recorded: Recording) -> Interruptions:
    """All tables of a recording as one."""
    return np.concatenate([np.empty(0, INTERRUPTION), *recorded.all_chunks()])


@st.composite
def nested_tables(draw: st.DrawFn, max_size: int = 16) -> Interruptions:
    """Interruptions as a CPU produces them: nested by level, in the order of their end."""
    rows: list[tuple[int, ...]] = []
    for cpu in (2, 3):
        now = 0
        for _ in range(draw(st.integers(0, max_size // 2))):
            now += draw(st.integers(0, 3_000))
            victim = draw(st.sampled_from([0, 100, 101]))
            now = _frame(draw, rows, now, cpu, victim, depth=0)
    return table(*rows)


def _frame(
    draw: st.DrawFn, rows: list[tuple[int, ...]], start: int, cpu: int, victim: int, depth: int
) -> int:
    now, nested = start + draw(st.integers(1, 500)), 0
    for _ in range(draw(st.integers(0, 2)) if depth < 2 else 0):
        began = now + draw(st.integers(0, 300))
        now = _frame(draw, rows, began, cpu, victim, depth + 1)
        nested += now - began
    now += draw(st.integers(0, 50_000))
    source = draw(st.integers(0, len(SOURCES) - 1))
    trigger = draw(st.integers(0, len(TRIGGERS) - 1))
    rows.append(
        interruption(
            start, now - start, source=source, net_ns=now - start - nested, cpu=cpu,
            victim=victim, tid=victim, outermost=depth == 0, trigger=trigger,
            trigger_ns=draw(st.integers(0, start)) if trigger > 1 else 0,
        )
    )  # fmt: skip
    return now


@functools.cache
def layout() -> Layout:
    """The layout of the records as this build has it; needs no privileges. Not to be changed."""
    return Layout.from_native(_native.layout())


FLAGS = layout().flags
"""Bits of the kernel's records."""


def events(*rows: dict[str, Any]) -> Events:
    """Kernel records from what is not zero in each; ``source`` and ``parent_source`` by name."""
    shared = layout()
    ids = {kind.name: number for number, kind in shared.kinds.items()}
    made = np.zeros(len(rows), shared.event)
    for event, row in zip(made, rows, strict=True):
        row = {"parent_source": row["source"], **row}
        for name, value in row.items():
            event[name] = ids[value] if name.endswith("source") else value
    return made


def names(symbols: dict[int, str] | None = None, *, reduced: frozenset[str] = frozenset()) -> Names:
    """Where test events get their names from."""
    lines = "".join(f"{address:016x} t {name}\n" for address, name in (symbols or {}).items())
    known = SymbolTable(lines.encode())
    return Names(("HI", "TIMER"), {36: ("virtio1-req.0",)}, lambda: known, reduced)


def write_recording(recorded: Recording, path: Path, *, force: bool) -> None:
    """Writes a recording as what the end of the name says."""
    recording_output(path, force=force).write(recorded)


def write_spool(
    path: Path,
    blocks: Iterable[Events] = (),
    *,
    symbols: dict[int, str] | None = None,
    symbols_while_growing: bool = False,
    end_ns: int | None = START_NS + 1_000_000,
) -> bytes:
    """Writes a native recording, without its last block when ``end_ns`` is None; its bytes."""
    shared = layout()
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    try:
        file = PlainBlockFile(fd, shared)
        writer = SpoolWriter(shared, file)
        writer.write_head({"host": "box"}, names(symbols), (2, 3))
        file.append(shared.block_kinds["START"], START_NS.to_bytes(8, "little"))
        for block in blocks:
            file.append(shared.block_kinds["PACKED"], packed_events(block, shared))
            if symbols_while_growing:
                writer.write_names()
        if end_ns is not None:
            losses = Losses({2: {"ring_full": 4}}, lost_spool=1)
            counters = side_figures(
                losses=losses, overhead=Overhead(cpu_ns=9), unavailable=("csd",)
            )
            writer.write_end(end_ns, counters, "asked")
    finally:
        os.close(fd)
    return path.read_bytes()
