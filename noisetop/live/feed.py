"""Samples for a live view, from a running tracer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field

from noisetop.checks import AuditedMachine
from noisetop.counters.calibration import BY_NET, CALIBRATION, Calibration
from noisetop.counters.period import PeriodCounters, Totals
from noisetop.events.interruption import OTHER_TID, Interruptions
from noisetop.events.task_directory import TaskDirectory
from noisetop.events.victim_time import ANY_TASK, VictimTime, merged
from noisetop.events.victim_time import folded as victims_folded
from noisetop.events.waits import WaitBook
from noisetop.live.causes import LiveCauses
from noisetop.live.period_split import PeriodSplitter
from noisetop.live.reading_steps import ReadingSteps
from noisetop.live.sample import Sample
from noisetop.live.worst_moments import WorstMoments
from noisetop.machine.allocation import HeapTrimmer
from noisetop.machine.namespaces import is_first
from noisetop.machine.system import process_ids, task_exists, topology
from noisetop.machine.topology import CpuPlace, places_of
from noisetop.summary.cpu_victim import Claims, CpuVictims
from noisetop.summary.fold import folded
from noisetop.summary.short_lived import StartedTasks
from noisetop.summary.summarizer import SortedOut, Summarizer
from noisetop.summary.summary import Summary
from noisetop.summary.worst import WorstInterruption, is_aside
from noisetop.tables.rows import joined
from noisetop.tracing.stopper import Stopper
from noisetop.tracing.tracer import Tracer

_NAMES, _NAMES_PER_CPU = 256, 64
"""Sources that the totals tell apart."""
_NEW_NAMES = 512
"""Names of tasks that are told apart beside those."""
_REMEMBERED = 4096
"""Tasks that are gone, and triggers, that are remembered."""
_STARTED = 512
"""Tasks that began, which are told apart where they are counted by name."""
_TASKS = 256
"""Tasks of a source on one CPU that a sample tells apart."""
_VICTIMS, _GONE = 2048, 64
"""Victims that a sample tells apart: threads that live, and threads that are gone."""


def _named(victims: Mapping[int, VictimTime], living: Set[int]) -> set[int]:
    """Those that are told apart; empty where all are."""
    gone = [one for one in victims.values() if one.tid not in living and one.tid != OTHER_TID]
    if len(gone) <= 2 * _GONE and len(victims) <= 2 * _VICTIMS:
        return set()
    lives = [one for one in victims.values() if one.tid in living]
    return _worst(lives, _VICTIMS) | _worst(gone, _GONE)


def _worst(victims: list[VictimTime], most: int) -> set[int]:
    """Those that lost most time."""
    ordered = sorted(victims, key=lambda one: (one.on_cpu_ns - one.wall_ns, one.tid))
    return {one.tid for one in ordered[:most]}


def _lives(directory: TaskDirectory) -> Callable[[int], bool]:
    """Tells by tid which tasks there are. In a PID namespace nobody knows."""
    processes = process_ids() if is_first("pid") else frozenset()
    return lambda tid: (directory.pid(tid) or tid) in processes and task_exists(tid)


@dataclass(slots=True)
class TracerFeed:
    """A noisetop.live.sample.Feed over a tracer whose window has started.

    Tables of interruptions go to the totals and to the interval alike, so both are exact.
    """

    tracer: Tracer
    stopper: Stopper
    interval_ns: int
    title: str = ""
    count: int | None = None
    """Samples until the end; None: no limit."""
    by_net: bool = False
    """Whether to rank by net time although there is a calibration."""
    keeps_moments: bool = False
    """Whether samples can carry the worst moments."""
    places: Mapping[int, CpuPlace] = field(default_factory=lambda: places_of(topology()))
    on_tables: Callable[[Interruptions, Interruptions], object] | None = None
    """Called before each sample, once or more, with what ended and the part that its interval
    has of it."""
    _total: Summarizer = field(init=False)
    _total_waits: WaitBook = field(default_factory=WaitBook)
    _total_victims: dict[int, VictimTime] = field(default_factory=dict)
    _splitter: PeriodSplitter = field(default_factory=PeriodSplitter)
    _steps: ReadingSteps = field(default_factory=ReadingSteps)
    _read_ns: int = 0
    """Up to when the last reading was complete."""
    _total_start_ns: int = 0
    _last_ns: int = 0
    _counters_at_start: Totals = field(init=False)
    _counters_at_last: Totals = field(init=False)
    _causes: LiveCauses = field(init=False)
    _moments: WorstMoments | None = None
    _unjudged: list[Interruptions] = field(default_factory=list)
    """Tables of the interval that runs, for the moments."""
    _moments_wanted: threading.Event = field(default_factory=threading.Event)
    _claims: Claims = field(init=False)
    _reset_wanted: threading.Event = field(default_factory=threading.Event)
    _heap: HeapTrimmer = field(default_factory=HeapTrimmer)
    _living: int = 0
    """Tasks whose names could not be forgotten last."""

    def __post_init__(self) -> None:
        self.tracer.reader.namer.most_names = _NEW_NAMES
        self._total, self._moments = self._summarizer(), self._no_moments()
        self._causes = LiveCauses(
            self.tracer.reader,
            self.tracer.target.cpus,
            self.tracer.directory,
            BY_NET if self.by_net else self.tracer.calibration,
            left_out=self.tracer.left_out,
            stacks=self.tracer.stacks_so_far,
            # In a PID namespace tasks have other numbers than the kernel tells.
            machine=self._machine if is_first("pid") else None,
            measured=self.tracer.target.processes,
        )
        any_task = self.tracer.target.victims == ANY_TASK
        self._claims = Claims(any_task, self.tracer.given_victim, self.tracer.own_pid)
        self._total_start_ns = self._last_ns = self._read_ns = self.tracer.start_ns
        self._counters_at_start = self._counters_at_last = self.tracer.counters.at_start

    def _machine(self) -> AuditedMachine:
        target = self.tracer.target
        return AuditedMachine(cpus=target.cpus, pid=target.pid or None)

    def _no_moments(self) -> WorstMoments | None:
        return WorstMoments() if self.keeps_moments else None

    def _summarizer(self) -> Summarizer:
        reader = self.tracer.reader
        return Summarizer(
            self.tracer.target.cpus,
            reader.namer.sources,
            reader.join.triggers,
            self.tracer.directory,
            started=StartedTasks(_STARTED),
            most_tasks=_TASKS,
        )

    def next(self) -> Sample:
        """Waits for the end of the interval that runs, then returns its sample."""
        if self._reset_wanted.is_set():
            self._restart()
        interval = self._summarizer()
        self._read_meanwhile(interval)
        ended = self._why_ended()
        if ended:
            # The last sample reaches as far as a recording that is made at the same time.
            self.tracer.stop_window()
        now_ns = self._read_rest(interval, ended=bool(ended))
        counters, waits = self.tracer.counters.read(), self.tracer.reader.waits
        victims = self._victims(now_ns, waits)
        start_ns, self._last_ns = self._last_ns, now_ns
        since_last, self._counters_at_last = self._counters_at_last, counters
        total_ns, whose = (self._total_start_ns, now_ns), self._cpu_victims(now_ns)
        self._add_moments(whose)
        self._causes.judge(waits, now_ns, whose)
        total = self._between(self._counters_at_start, counters, *total_ns)
        latest = self._between(since_last, counters, start_ns, now_ns)
        sample = Sample(
            total=self._summary(
                self._total, self._total_waits, self._total_victims, total_ns, total, whose
            ),
            interval=self._summary(interval, waits, victims, (start_ns, now_ns), latest, whose),
            diagnosis=self._causes.latest,
            ended=ended,
            moments=self._worst(whose),
        )
        waits.clear()
        self._bound_memory(total.of(CALIBRATION))
        self._heap.trim(now_ns)
        return sample

    def _worst(self, whose: CpuVictims) -> tuple[WorstInterruption, ...] | None:
        """Those that are noise, where somebody wants to see them."""
        if self._moments is None or not self._moments_wanted.is_set():
            return None
        reader = self.tracer.reader
        worst = self._moments.worst(reader.namer.sources, reader.join.triggers)
        about = Summary(0, 0, (), directory=self.tracer.directory, cpu_victims=whose)
        return tuple(one for one in worst if not is_aside(about, one))

    def _victims(self, now_ns: int, waits: WaitBook) -> dict[int, VictimTime]:
        """Where their time went in this interval; adds it and their waits to the totals. Tasks that
        are gone become one, but for those that lost most."""
        book = self.tracer.reader.victims
        interval = book.close(now_ns)
        if named := _named(interval, book.living):
            interval = victims_folded(interval, named)
            waits.fold(named)
        self._total_victims = merged(self._total_victims, interval)
        self._total_waits.merge(waits)
        if named := _named(self._total_victims, book.living):
            self._total_victims = victims_folded(self._total_victims, named)
            self._total_waits.fold(named)
        return interval

    def _bound_memory(self, calibration: Calibration) -> None:
        """Anybody can start tasks under ever new names: what is beyond a bound is told as one, and
        tasks that are gone are forgotten. Sums stay exact."""
        reader, kept = self.tracer.reader, _NAMES + _NAMES_PER_CPU * len(self.tracer.target.cpus)
        tasks = reader.task_names.task_count - self._living
        names = max(reader.namer.name_count, len(reader.join.triggers), tasks)
        if names <= 2 * _REMEMBERED and len(reader.namer.sources) <= 2 * kept + _NEW_NAMES:
            return
        total = folded(self._total, calibration, self._total_start_ns, kept)
        if self._moments is not None:
            self._moments.forget(reader.namer.sources, reader.join.triggers)
        reader.forget(total.told_as, _lives(self.tracer.directory), _REMEMBERED)
        self._living = max(reader.task_names.task_count - _REMEMBERED, 0)
        self._total = total.continued(reader.namer.sources, reader.join.triggers)
        self._total_victims = {
            tid: one.told_as(total.told_as) for tid, one in self._total_victims.items()
        }
        self._causes.forget()

    def _read_meanwhile(self, interval: Summarizer) -> None:
        """Waits for the end of the interval that runs, and reads what is much before it comes."""
        end_ns = self._last_ns + self.interval_ns
        for moment_ns in self._steps.moments(self._last_ns, end_ns):
            if self.stopper.wait_until(moment_ns) or self.stopper.woken:
                return
            table = self._read()
            self._take(interval, table, self._splitter.rest_of(table))
        self.stopper.wait_until(end_ns)

    def _read_rest(self, interval: Summarizer, *, ended: bool) -> int:
        """Takes the rest of what was traced, and of what goes on the part that lies in this
        interval, whose end it returns."""
        table = self._read(settles=not ended)
        if ended:
            until_ns, still = self.tracer.end_ns, table[:0]
        else:
            until_ns, still, unattributed = self.tracer.settle()
            table = joined([table, unattributed])
        self._take(interval, table, self._splitter.split(table, still, until_ns))
        return until_ns

    def _read(self, *, settles: bool = False) -> Interruptions:
        """What was traced since the last call."""
        table = self.tracer.read(settles=settles)
        since_ns, self._read_ns = self._read_ns, self.tracer.complete_ns
        self._steps.took(len(table), self._read_ns - since_ns)
        return table

    def _take(self, interval: Summarizer, table: Interruptions, part: Interruptions) -> None:
        """``part``: what the interval has of the table."""
        sorted_out = SortedOut.of(table)
        self._total.add_sorted_out(sorted_out)
        interval.add_sorted_out(sorted_out if part is table else SortedOut.of(part))
        if self.on_tables is not None:
            self.on_tables(table, part)
        self._causes.add(table, self._last_ns)
        if self._moments is not None:
            self._unjudged.append(table)

    def _add_moments(self, whose: CpuVictims) -> None:
        """Those of the interval, by whose the CPUs are as its end tells."""
        if self._moments is None:
            return
        reader = self.tracer.reader
        lists = reader.namer.sources, reader.join.triggers
        for table in self._unjudged:
            self._moments.add(table, *lists, whose, self.tracer.directory)
        self._unjudged.clear()

    def _why_ended(self) -> str:
        """In words for the user; empty: it goes on. Counts the samples."""
        if self.count is not None:
            self.count -= 1
        if not self.stopper.stopped:
            return "" if self.count != 0 else "number of samples reached"
        return self.stopper.reason or ("interrupted" if self.interrupted else "duration reached")

    @property
    def interrupted(self) -> bool:
        """Whether a signal asked for the end."""
        return self.stopper.interrupted

    def _between(self, before: Totals, after: Totals, start_ns: int, end_ns: int) -> PeriodCounters:
        found = self.tracer.counters.between(before, after, start_ns, end_ns)
        return found.with_value(CALIBRATION, BY_NET) if self.by_net else found

    def _restart(self) -> None:
        """The total begins where the last interval ended."""
        self._reset_wanted.clear()
        self._total, self._moments = self._summarizer(), self._no_moments()
        self._total_waits.clear()
        self._total_victims = {}
        self._causes.restart()
        self._total_start_ns = self._last_ns
        self._counters_at_start = self._counters_at_last

    def _summary(
        self,
        summarizer: Summarizer,
        waits: WaitBook,
        victims: dict[int, VictimTime],
        period_ns: tuple[int, int],
        counters: PeriodCounters,
        whose: CpuVictims,
    ) -> Summary:
        tasks = self.tracer.reader.tasks
        return summarizer.summary(
            *period_ns,
            counters,
            tasks=tasks,
            waits=waits.by_task(),
            victims=victims,
            cpu_victims=whose,
        )

    def _cpu_victims(self, now_ns: int) -> CpuVictims:
        """Whose the CPUs are, by all that the totals hold: for the last interval as well."""
        tracer, duration_ns = self.tracer, now_ns - self._total_start_ns
        return self._claims.victims(
            tracer.target.cpus, self._total_victims, tracer.directory, duration_ns
        )

    def reset(self) -> None:
        """Starts the totals anew with the interval that runs."""
        self._reset_wanted.set()

    def diagnose(self, *, wanted: bool) -> None:
        """Has samples carry a diagnosis, or no longer."""
        self._causes.want(wanted=wanted)

    def want_moments(self, *, wanted: bool) -> None:
        """Has samples carry the worst moments, or no longer."""
        if wanted:
            self._moments_wanted.set()
        else:
            self._moments_wanted.clear()

    def wake(self) -> None:
        """Ends the wait of next() early."""
        self.stopper.wake()
