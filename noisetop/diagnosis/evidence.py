"""What the rules look at: noise by CPU, source, what it ran and who caused it; pure numpy.

An interrupt or a thread that ran something else inside (a timer function, a function call from
another CPU, a work item) is kept apart by what it ran, so that the time of entering and leaving it
goes to the cause and not to the interrupt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from noisetop.checks import AuditedMachine
from noisetop.compare.sample import BLOCKS
from noisetop.counters.losses import LOSSES
from noisetop.counters.tick_stops import TICK_STOPS, TickStops
from noisetop.diagnosis.intervals import Intervals
from noisetop.diagnosis.totals import GroupKey, GroupTotals, Totals
from noisetop.errors import NoisetopError
from noisetop.events.interruption import (
    FAULT,
    INTERRUPTION,
    SIDE_LEVEL,
    Interruptions,
    Source,
    interrupting,
)
from noisetop.events.task_directory import TaskDirectory
from noisetop.events.trigger import Trigger
from noisetop.events.waits import TaskWait
from noisetop.recording.prefetch import read_ahead
from noisetop.recording.recording import Recording
from noisetop.tables.nesting import first_inside
from noisetop.tables.rows import joined, select
from noisetop.text.cpu_list import parse_cpu_list

Path = tuple[str, ...]
Index = npt.NDArray[np.int64]

_NOTHING = -1
_CARRIED = 4096

_KERNEL_THREADS = (
    *("cpuhp/", "idle_inject/", "irq/", "irq_work/", "kauditd", "kcompactd", "khugepaged"),
    *("khungtaskd", "kipmi", "ksmd", "ksoftirqd/", "kswapd", "ktimers/", "kworker/"),
    *("migration/", "napi/", "pr/", "rcu", "sugov:", "swapper/", "watchdogd"),
)
THROTTLED = "throttled"
"""In the place of a thread: the idle task ran although a victim wanted to."""


def is_program(path: Path) -> bool:
    """Whether a source is a program, as far as its name tells: no thread of the kernel."""
    return (
        len(path) > 1
        and path[0] == "thread"
        and path[1] != THROTTLED
        and not path[1].startswith(_KERNEL_THREADS)
    )


@dataclass(frozen=True, slots=True)
class Share:
    """Noise of one source on one CPU with one trigger; the smallest part that a rule can claim."""

    cpu: int
    path: Path
    ran: Path
    """What it ran inside first, as a source path; empty: nothing else."""
    trigger: Trigger
    stack: tuple[str, ...]
    """Kernel stack of the trigger, innermost function first; empty: not known."""
    count: int
    net_ns: int
    max_ns: int
    """Largest net time of one interruption."""
    max_start_ns: int
    """When that one began, CLOCK_MONOTONIC."""
    period_ns: int = 0
    """Usual time between two of this source on this CPU, whoever caused them; 0: not regular."""
    blocks_ns: tuple[int, ...] = ()
    """The noise of equal blocks of the recording by where it began; empty: not kept."""

    @property
    def cause(self) -> Path:
        """The path that says most: what it ran, or itself."""
        return self.ran or self.path


@dataclass(frozen=True, slots=True)
class Evidence:
    """All noise of a recording, and what is known about the machine that it was made on."""

    shares: tuple[Share, ...]
    duration_ns: int
    start_ns: int
    cpus: tuple[int, ...]
    online: tuple[int, ...] = ()
    nohz_full: frozenset[int] = frozenset()
    waits: dict[int, TaskWait] = field(default_factory=dict)
    """Of victims, by tid."""
    tasks: dict[int, str] = field(default_factory=dict)
    directory: TaskDirectory = field(default_factory=TaskDirectory)
    """Who the tasks are."""
    tick_stops: dict[int, TickStops] = field(default_factory=dict)
    """Attempts of the kernel to stop the tick, by CPU."""
    realtime: frozenset[str] | None = None
    """Names of programs that go before all normal ones; None: not known."""
    machine: AuditedMachine | None = None
    """The machine as it is now, where it is the one of the recording: for remedies, and for what
    they put back."""
    fault_count: int = 0
    fault_ns: int = 0
    """What victims spent in page faults of their own; beside the noise, never part of it."""
    incomplete: str = ""
    """Why the recording does not hold all that happened; empty: it does."""

    @property
    def noise_ns(self) -> int:
        """All noise, as the summary of the recording has it."""
        return sum(share.net_ns for share in self.shares)


@dataclass(slots=True)
class Collector:
    """Folds tables of interruptions into shares, in memory that follows the number of sources and
    triggers and not that of events. The lists may grow between calls."""

    sources: Sequence[Source]
    triggers: Sequence[Trigger]
    stacks: dict[int, tuple[str, ...]] = field(default_factory=dict)
    start_ns: int = 0
    block_ns: int = 0
    """Length of a block from ``start_ns`` on; 0: keep none."""
    fault_count: int = 0
    fault_ns: int = 0
    _totals: Totals = field(init=False)
    _intervals: Intervals = field(default_factory=Intervals)
    _inner: Interruptions = field(default_factory=lambda: np.empty(0, INTERRUPTION))

    def __post_init__(self) -> None:
        self._totals = Totals(BLOCKS if self.block_ns else 0)

    def add(self, table: Interruptions) -> None:
        """Adds interruptions and page faults. What ran on an idle CPU took nobody's time and is
        left out."""
        table = select(table, table["victim_tid"] != 0)
        self._add_faults(table)
        table = interrupting(table)
        if not len(table):
            return
        ran = self._ran(table)
        self._totals.add(table, ran, self._blocks(table))
        # What an interrupt ran begins with it, and counts once.
        self._intervals.add(select(table, ran == _NOTHING))

    def _outer_of(self) -> dict[int, set[int]]:
        """Sources that others lie in by their path, with the numbers of those others."""
        by_path = {source.path: number for number, source in enumerate(self.sources)}
        outer: dict[int, set[int]] = {}
        for number, source in enumerate(self.sources):
            around = by_path.get(source.path[:-1])
            if around is not None:
                outer.setdefault(around, set()).add(number)
        return outer

    def _ran(self, table: Interruptions) -> Index:
        """For each row the source of the first thing that began inside it and belongs to it."""
        found = np.full(len(table), _NOTHING, np.int64)
        outer = self._outer_of()
        inner_to = np.full(len(self.sources), _NOTHING, np.int64)
        for around, inside in outer.items():
            inner_to[list(inside)] = around
        sources = table["source"]
        inner = joined([self._inner, select(table, inner_to[sources] != _NOTHING)])
        self._inner = inner[-_CARRIED:]
        inner_around = inner_to[inner["source"]]
        for around in outer:
            rows = np.flatnonzero(sources == around)
            candidates = select(inner, inner_around == around)
            at = first_inside(select(table, rows), candidates)
            found[rows[at >= 0]] = candidates["source"][at[at >= 0]]
        return found

    def _add_faults(self, table: Interruptions) -> None:
        side = select(table, table["level"] == SIDE_LEVEL)
        numbers = [i for i, one in enumerate(self.sources) if one.noise_class == FAULT]
        faults = side[np.isin(side["source"], numbers)]
        self.fault_count += len(faults)
        self.fault_ns += int(faults["net_ns"].sum())

    def _blocks(self, table: Interruptions) -> Index:
        """For each row the block that it begins in; what lies outside counts with the nearest."""
        since = table["start_ns"].astype(np.int64) - self.start_ns
        return np.clip(since // max(self.block_ns, 1), 0, BLOCKS - 1)

    def shares(self) -> tuple[Share, ...]:
        """What was added so far, largest net time first."""
        shares = [self._share(key, totals) for key, totals in self._totals.groups()]
        return tuple(sorted(shares, key=lambda one: (-one.net_ns, one.cpu, one.path, one.trigger)))

    def _share(self, key: GroupKey, totals: GroupTotals) -> Share:
        cpu, source, ran, trigger = key
        who = self.triggers[trigger] if trigger < len(self.triggers) else Trigger()
        return Share(
            cpu=cpu,
            path=self.sources[source].path,
            ran=self.sources[ran].path if ran != _NOTHING else (),
            trigger=who,
            stack=self.stacks.get(who.stack, ()),
            count=totals.count,
            net_ns=totals.net_ns,
            max_ns=totals.max_ns,
            max_start_ns=totals.max_start_ns,
            period_ns=self._intervals.period_ns(cpu, ran if ran != _NOTHING else source),
            blocks_ns=totals.blocks_ns,
        )


def collector_for(recording: Recording) -> Collector:
    """One that takes the chunks of a recording, all of them; its lists grow while that is read."""
    return Collector(
        recording.sources,
        recording.triggers,
        recording.stacks,
        start_ns=recording.start_ns,
        block_ns=recording.duration_ns // BLOCKS,
    )


def collect(recording: Recording) -> Collector:
    """Reads a recording once. Raises NoisetopError when it is damaged."""
    collector = collector_for(recording)
    for chunk in read_ahead(recording.all_chunks()):
        collector.add(chunk)
    return collector


def evidence_of(
    recording: Recording,
    *,
    collected: Collector | None = None,
    online: Sequence[int] = (),
    realtime: frozenset[str] | None = None,
    machine: AuditedMachine | None = None,
) -> Evidence:
    """What a recording says; it knows about its machine what stands in its head.

    ``collected`` has taken all its chunks already; None: it is read for that. ``online``: CPUs of
    the machine where the recording does not tell; ``machine``: that machine, where it can be read.
    Raises NoisetopError when the recording is damaged.
    """
    collected = collected or collect(recording)
    tick_stops = recording.counters.of(TICK_STOPS)
    return Evidence(
        shares=collected.shares(),
        fault_count=collected.fault_count,
        fault_ns=collected.fault_ns,
        duration_ns=max(recording.duration_ns, 1),
        start_ns=recording.start_ns,
        cpus=recording.cpus,
        online=_cpus(recording, "online") or tuple(online),
        nohz_full=frozenset(_cpus(recording, "nohz_full")),
        waits=dict(recording.waits.by_task()),
        tasks=dict(recording.tasks),
        directory=recording.directory,
        tick_stops=dict(tick_stops),
        realtime=realtime,
        machine=machine,
        incomplete=_incomplete(recording),
    )


def _cpus(recording: Recording, name: str) -> tuple[int, ...]:
    try:
        return parse_cpu_list(str(recording.metadata.get(name) or ""))
    except NoisetopError:  # written by another program or by hand
        return ()


def _incomplete(recording: Recording) -> str:
    if recording.damage:
        return recording.damage
    lost = recording.counters.of(LOSSES).total
    return f"{lost} events were lost" if lost else ""
