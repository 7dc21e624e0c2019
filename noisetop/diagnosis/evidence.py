"""What the rules look at: noise by CPU, source, what it ran and who caused it; pure numpy.

An interrupt or a thread that ran something else inside (a timer function, a function call from
another CPU, a work item) is kept apart by what it ran, so that the time of entering and leaving it
goes to the cause and not to the interrupt.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from noisetop.checks import AuditedMachine
from noisetop.compare.sample import BLOCKS
from noisetop.counters.calibration import CALIBRATION, NONE, Calibration, EntryCost
from noisetop.counters.left_out import LEFT_OUT, NOTHING, LeftOut
from noisetop.counters.losses import LOSSES
from noisetop.counters.tick_stops import TICK_STOPS, TickStops
from noisetop.diagnosis.intervals import Intervals
from noisetop.diagnosis.totals import GroupKey, GroupTotals, Places, Totals
from noisetop.errors import NoisetopError
from noisetop.events.interruption import (
    FAULT,
    INTERRUPTION,
    SIDE_LEVEL,
    UNATTRIBUTED,
    Interruptions,
    Source,
    interrupting,
)
from noisetop.events.origin import Origin
from noisetop.events.task_directory import TaskDirectory
from noisetop.events.trigger import Trigger, UserStacks
from noisetop.events.waits import TaskWait
from noisetop.recording.prefetch import read_ahead
from noisetop.recording.recording import Recording
from noisetop.summary.cost import cost_of, entry_kind
from noisetop.summary.cpu_victim import CpuVictims, never_accused
from noisetop.summary.recorded import cpu_victims_of
from noisetop.summary.short_lived import ShortLived, StartedTasks
from noisetop.summary.trigger_totals import TriggerSummary
from noisetop.tables.nesting import first_inside
from noisetop.tables.rows import joined, select
from noisetop.text.cpu_list import parse_cpu_list

Path = tuple[str, ...]
Index = npt.NDArray[np.int64]

_NOTHING = -1
_CARRIED = 4096
_URGENT, _USER = 16, 32
"""Above any origin."""

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
        and path != UNATTRIBUTED.path
        and not _is_like_kernel(path[1])
    )


def _is_like_kernel(name: str) -> bool:
    return name.startswith(_KERNEL_THREADS)


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
    """When that one began, CLOCK_MONOTONIC; 0: not known."""
    period_ns: int = 0
    """Usual time between two of this source on this CPU, whoever caused them; 0: not regular."""
    blocks_ns: tuple[int, ...] = ()
    """The noise of equal blocks of the recording by where it began; empty: not kept."""
    origin: Origin = Origin.UNATTRIBUTED
    """Whose doing it was."""
    urgent: bool = False
    """Whether it delayed a victim with real-time priority."""
    entries: int = 0
    """Those of ``count`` that carry the cost of an entry into the kernel or of a switch."""
    cold: int = 0
    """Those of ``entries`` that are cold."""
    entry: EntryCost | None = None
    """That cost; None: not calibrated."""
    tasks: tuple[TriggerSummary, ...] = ()
    """Of a thread the tasks that ran, by the ``tid`` of what stands for a trigger."""
    user_stack: tuple[str, ...] = ()
    """That of its program, innermost function first; empty: not known."""
    user: bool = False
    """Whether it is known to be no thread of the kernel, whatever it is called."""
    sender_poses: bool = False
    """Whether the trigger is a program with the name of a thread of the kernel."""

    @property
    def cause(self) -> Path:
        """The path that says most: what it ran, or itself."""
        return self.ran or self.path

    @property
    def is_program(self) -> bool:
        """Whether it is a program: no thread of the kernel."""
        return self.user or is_program(self.path)

    @property
    def poses(self) -> bool:
        """Whether it is a program with the name of a thread of the kernel."""
        return self.user and not is_program(self.path)

    @property
    def rank_ns(self) -> int:
        """What it counts with: the estimate of its cost where that is known, else its noise."""
        cost_ns = cost_of(self.net_ns, self.entries, self.cold, self.entry)
        return self.net_ns if cost_ns is None else cost_ns

    def part(self, tasks: tuple[TriggerSummary, ...]) -> Share:
        """Of the noise of a thread what some of its tasks did; blocks of time in proportion."""
        net_ns = sum(task.net_ns for task in tasks)
        return replace(
            self,
            count=sum(task.count for task in tasks),
            net_ns=net_ns,
            max_ns=(largest := max(task.max_ns for task in tasks)),
            max_start_ns=self.max_start_ns if largest == self.max_ns else 0,
            blocks_ns=tuple(ns * net_ns // max(self.net_ns, 1) for ns in self.blocks_ns),
            entries=sum(task.entries for task in tasks),
            cold=sum(task.cold for task in tasks),
            tasks=tasks,
        )

    @property
    def sender(self) -> int:
        """Tid of who caused it, behind a worker thread that of who queued the work; 0: nobody. Who
        woke a program did not cause it."""
        if self.path[0] == "thread" and (self.user or not self.path[1].startswith("kworker/")):
            return 0
        number = self.trigger.origin.rpartition(" ")[2]
        return int(number) if number.isdecimal() else self.trigger.tid

    @property
    def line(self) -> tuple[str, str]:
        """Number and name of the interrupt line that it is, or that raised it, which tells no name;
        empty where there is none."""
        path = self.cause
        known = path[1] if path[0] == "irq" and len(path) > 1 else ""
        known = known or self.trigger.context.partition("irq ")[2]
        number, _, name = known.partition(" ")
        return (number, name) if re.fullmatch(r"[0-9]{1,9}", number) else ("", "")


@dataclass(frozen=True, slots=True)
class Realtime:
    """Threads with real-time priority."""

    names: frozenset[str] = frozenset()
    """Of programs."""
    tids: frozenset[int] = frozenset()

    @classmethod
    def of(cls, machine: AuditedMachine) -> Realtime | None:
        """What has real-time priority now; None where that is hidden."""
        if machine.tasks_hidden:
            return None
        urgent = [task for task in machine.tasks if task.realtime]
        return cls(
            frozenset(task.comm for task in urgent if not task.kernel),
            frozenset(task.tid for task in urgent),
        )

    def __or__(self, other: Realtime) -> Realtime:
        return Realtime(self.names | other.names, self.tids | other.tids)

    def has(self, share: Share) -> bool:
        """Whether a thread is one of them; by its name where nothing else is known."""
        tids = [task.trigger.tid for task in share.tasks]
        return tids[0] in self.tids if tids else share.path[1] in self.names


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
    tick_stops: dict[int, TickStops] = field(default_factory=dict)
    """Attempts of the kernel to stop the tick, by CPU."""
    realtime: Realtime | None = None
    """What goes before all normal programs; None: not known."""
    machine: AuditedMachine | None = None
    """The machine as it is now, where it is the one of the recording: for remedies, and for what
    they put back."""
    fault_count: int = 0
    fault_ns: int = 0
    """What victims spent in page faults of their own; beside the noise, never part of it."""
    accounted: bool = False
    """Whether the time of victims was accounted: the waits are noise of what took them."""
    uncalibrated: str = ""
    """Why there is no estimate of what it cost; empty: there is."""
    incomplete: str = ""
    """Why the recording does not hold all that happened; empty: it does."""
    left_out: LeftOut = NOTHING
    """What was not traced because the user asked for less."""
    directory: TaskDirectory = field(default_factory=TaskDirectory)
    """Who the tasks are."""
    short_lived: tuple[ShortLived, ...] = ()
    """Those that are started again and again."""
    victims: tuple[int, ...] = ()
    """Processes that were measured, by PID; empty: not known."""
    cpu_victims: CpuVictims = field(default_factory=dict)
    """Whose each CPU is, where whichever task ran was watched."""

    @property
    def measured(self) -> tuple[int, ...]:
        """``victims``, and those of the CPUs."""
        found = (one.pid for one in self.cpu_victims.values() if one is not None and one.pid)
        return tuple(dict.fromkeys((*self.victims, *found)))

    @property
    def unclaimed(self) -> frozenset[int]:
        """CPUs that nobody claims: tasks that take turns there are contention."""
        return frozenset(cpu for cpu, one in self.cpu_victims.items() if one is None)

    @property
    def unattributed_ns(self) -> int:
        """Noise that no event accounts for: runnable, not running."""
        return sum(share.net_ns for share in self.shares if share.path == UNATTRIBUTED.path)

    @property
    def noise_ns(self) -> int:
        """All noise, as the summary of the recording has it."""
        return sum(share.net_ns for share in self.shares)

    def process_of(self, tid: int) -> int:
        """The process of a thread, by PID; 0: not known."""
        if pid := self.directory.pid(tid):
            return pid
        tasks = self.machine.tasks if self.machine else ()
        return next((task.pid for task in tasks if task.tid == tid), 0)


def without_victims(evidence: Evidence) -> tuple[tuple[Share, ...], tuple[Share, ...]]:
    """The noise with the turns of the victims of CPUs apart, which other tasks waited for."""
    left: list[Share] = []
    turns: list[Share] = []
    for share in evidence.shares:
        victims = never_accused(share.cpu, evidence.cpu_victims)
        mine = tuple(
            task
            for task in share.tasks
            if any(one.includes(task.trigger.tid, evidence.directory) for one in victims)
        )
        if not mine:
            left.append(share)
        elif len(mine) == len(share.tasks):
            turns.append(share)
        else:
            turns.append(share.part(mine))
            left.append(share.part(tuple(task for task in share.tasks if task not in mine)))
    return tuple(left), tuple(turns)


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
    directory: TaskDirectory = field(default_factory=TaskDirectory)
    """Who the tasks are; may grow between calls."""
    user_stacks: UserStacks = field(default_factory=dict)
    urgent: frozenset[int] = frozenset()
    """Threads with real-time priority, by tid."""
    fault_count: int = 0
    fault_ns: int = 0
    _totals: Totals = field(init=False)
    _intervals: Intervals = field(default_factory=Intervals)
    _started: StartedTasks = field(default_factory=StartedTasks)
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
        urgent = np.isin(table["victim_tid"], list(self.urgent))
        threads = _are_threads(self.sources).take(table["source"]) & (table["tid"] != 0)
        whose = table["origin"] + _URGENT * urgent + _USER * self._are_users(table, threads)
        self._totals.add(table, Places(ran, whose, self._blocks(table), threads))
        self._started.add(select(table, threads), self.directory)
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

    def short_lived(self) -> tuple[ShortLived, ...]:
        """Tasks that were started again and again so far."""
        return self._started.rows(self.directory, self.start_ns)

    def shares(self, calibration: Calibration = NONE, wall_ns: int = 0) -> tuple[Share, ...]:
        """What was added so far, largest net time first. ``wall_ns``: in which time; the cost of a
        CPU is never more, where that is given."""
        groups = self._totals.groups(lambda key: self._entry(key, calibration), wall_ns)
        shares = [self._share(key, totals, entry) for key, totals, entry in groups]
        return tuple(sorted(shares, key=lambda one: (-one.net_ns, one.cpu, one.path, one.trigger)))

    def _entry(self, key: GroupKey, calibration: Calibration) -> EntryCost | None:
        return calibration.entry(entry_kind(self.sources[key.source]))

    def _are_users(self, table: Interruptions, threads: npt.NDArray[np.bool_]) -> Index:
        """By row 1 where a thread ran that is known to be none of the kernel."""
        tids = [tid for tid in np.unique(table["tid"][threads]).tolist() if self._is_user(tid)]
        return (threads & np.isin(table["tid"], np.array(tids, np.uint32))).astype(np.int64)

    def _is_user(self, tid: int) -> bool:
        info = self.directory.infos.get(tid)
        return info is not None and not info.kernel

    def _share(self, key: GroupKey, totals: GroupTotals, entry: EntryCost | None) -> Share:
        cpu, source, ran, trigger, whose = key
        who = self.triggers[trigger] if trigger < len(self.triggers) else Trigger()
        return Share(
            cpu=cpu,
            path=self.sources[source].path,
            ran=self.sources[ran].path if ran != _NOTHING else (),
            trigger=who,
            stack=self.stacks.get(who.stack, ()),
            user_stack=self.user_stacks.get((who.tid, who.user_stack), ()),
            count=totals.count,
            net_ns=totals.net_ns,
            max_ns=totals.max_ns,
            max_start_ns=totals.max_start_ns,
            period_ns=self._intervals.period_ns(cpu, ran if ran != _NOTHING else source),
            blocks_ns=totals.blocks_ns,
            origin=Origin(whose % _URGENT),
            urgent=bool(whose & _URGENT),
            entries=totals.entries,
            cold=totals.cold,
            entry=entry,
            tasks=totals.tasks,
            user=bool(whose & _USER),
            sender_poses=_is_like_kernel(who.task) and self._is_user(who.tid),
        )


def _are_threads(sources: Sequence[Source]) -> npt.NDArray[np.bool_]:
    return np.array([source.noise_class == "thread" for source in sources], bool)


def collector_for(recording: Recording, realtime: Realtime | None = None) -> Collector:
    """One that takes the chunks of a recording, all of them; its lists grow while that is read."""
    return Collector(
        recording.sources,
        recording.triggers,
        recording.stacks,
        start_ns=recording.start_ns,
        block_ns=recording.duration_ns // BLOCKS,
        directory=recording.directory,
        user_stacks=recording.user_stacks,
        urgent=realtime.tids if realtime else frozenset(),
    )


def collect(recording: Recording, realtime: Realtime | None = None) -> Collector:
    """Reads a recording once. Raises NoisetopError when it is damaged."""
    collector = collector_for(recording, realtime)
    for chunk in read_ahead(recording.all_chunks()):
        collector.add(chunk)
    return collector


def evidence_of(
    recording: Recording,
    *,
    collected: Collector | None = None,
    online: Sequence[int] = (),
    realtime: Realtime | None = None,
    machine: AuditedMachine | None = None,
) -> Evidence:
    """What a recording says; it knows about its machine what stands in its head.

    ``collected`` has taken all its chunks already; None: it is read for that. ``online``: CPUs of
    the machine where the recording does not tell; ``machine``: that machine, where it can be read.
    Raises NoisetopError when the recording is damaged.
    """
    collected = collected or collect(recording, realtime)
    tick_stops = recording.counters.of(TICK_STOPS)
    calibration = recording.counters.of(CALIBRATION)
    return Evidence(
        shares=collected.shares(calibration, recording.duration_ns),
        fault_count=collected.fault_count,
        fault_ns=collected.fault_ns,
        duration_ns=max(recording.duration_ns, 1),
        start_ns=recording.start_ns,
        cpus=recording.cpus,
        online=_cpus(recording, "online") or tuple(online),
        nohz_full=frozenset(_cpus(recording, "nohz_full")),
        waits=dict(recording.waits.by_task()),
        tasks=dict(recording.tasks),
        accounted=bool(recording.victims),
        tick_stops=dict(tick_stops),
        realtime=realtime,
        machine=machine,
        uncalibrated=calibration.reason if not calibration.kinds else "",
        incomplete=_incomplete(recording),
        left_out=recording.counters.of(LEFT_OUT),
        directory=recording.directory,
        short_lived=collected.short_lived(),
        victims=_measured(recording),
        cpu_victims=cpu_victims_of(recording),
    )


def _measured(recording: Recording) -> tuple[int, ...]:
    """The process that was watched, where it is a single one."""
    pid = recording.metadata.get("pid")
    return (pid,) if isinstance(pid, int) and pid else ()


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
