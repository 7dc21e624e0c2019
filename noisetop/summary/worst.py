"""The worst interruptions of a recording: its longest intervals of noise, and their parts."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from noisetop.events.interruption import INTERRUPTION, Interruptions, Source, interrupting
from noisetop.events.origin import Origin
from noisetop.events.task_directory import TaskDirectory
from noisetop.events.trigger import Trigger
from noisetop.recording.prefetch import read_ahead
from noisetop.recording.recording import Recording
from noisetop.summary.cpu_victim import CpuVictims, SetAside
from noisetop.summary.max_single import HOLD_NS, LongestIntervals, NoiseInterval
from noisetop.summary.recorded import summary_from
from noisetop.summary.summarizer import Summarizer
from noisetop.summary.summary import Summary
from noisetop.tables.rows import joined, select

WORST_KEPT = 10
"""Longest intervals that a report lists."""
MAX_PARTS = 8
"""Parts of each that a report lists."""
_SETTLED_NS = 2 * HOLD_NS
_TABLES = 8


@dataclass(frozen=True, slots=True)
class Part:
    """One interruption inside a interval."""

    source: Source
    start_ns: int
    net_ns: int
    depth: int
    """How many others it interrupted in turn."""
    trigger: Trigger
    """Who caused it; empty: not known."""
    tid: int = 0
    """Of a thread the task that ran; 0: it is none."""
    origin: Origin = Origin.UNATTRIBUTED
    """Whose doing it was."""
    gross_ns: int = 0
    level: int = 0
    """Of the kernel side: a higher one interrupts a lower one."""
    trigger_ns: int = 0
    """When the trigger acted, CLOCK_MONOTONIC; 0: not known."""


@dataclass(frozen=True, slots=True)
class WorstInterruption:
    """A interval, its largest parts in the order in which they began, and how much is left out."""

    interval: NoiseInterval
    victim_tid: int
    parts: tuple[Part, ...]
    more_count: int
    more_ns: int


@dataclass(slots=True)
class _Collector:
    """The largest parts of one interval."""

    interval: NoiseInterval
    most: int = MAX_PARTS
    """Parts that are kept."""
    count: int = 0
    net_ns: int = 0
    largest: Interruptions = field(default_factory=lambda: np.empty(0, INTERRUPTION))

    def add(self, chunk: Interruptions) -> None:
        """Takes from a table what belongs to it: noise inside its bounds, on its CPU."""
        start = chunk["start_ns"]
        inside = (start >= self.interval.start_ns) & (chunk["cpu"] == self.interval.cpu)
        inside &= (chunk["victim_tid"] != 0) & (start + chunk["gross_ns"] <= self.interval.end_ns)
        mine = select(chunk, inside)
        self.count += len(mine)
        self.net_ns += int(mine["net_ns"].sum())
        both = joined([self.largest, mine])
        order = np.argsort(both["net_ns"], kind="stable")[::-1]
        self.largest = select(both, order[: self.most])

    def result(self, sources: Sequence[Source], triggers: Sequence[Trigger]) -> WorstInterruption:
        rows = self.largest[np.lexsort((self.largest["level"], self.largest["start_ns"]))]
        parts = tuple(
            Part(
                sources[row["source"]],
                int(row["start_ns"]),
                int(row["net_ns"]),
                _depth(rows, row),
                triggers[row["trigger"]],
                int(row["tid"]) if sources[row["source"]].noise_class == "thread" else 0,
                Origin(int(row["origin"])),
                int(row["gross_ns"]),
                int(row["level"]),
                int(row["trigger_ns"]),
            )
            for row in rows
        )
        return WorstInterruption(
            interval=self.interval,
            victim_tid=int(rows["victim_tid"][0]) if len(rows) else 0,
            parts=parts,
            more_count=self.count - len(parts),
            more_ns=self.net_ns - sum(part.net_ns for part in parts),
        )


def _depth(rows: Interruptions, row: np.void) -> int:
    ends = rows["start_ns"] + rows["gross_ns"]
    around = (rows["start_ns"] <= row["start_ns"]) & (ends >= row["start_ns"] + row["gross_ns"])
    return int((around & (rows["level"] < row["level"])).sum())


_Collectors = dict[tuple[int, int], _Collector]
"""By CPU and start of the interval."""


@dataclass(slots=True)
class PartsOfLongest:
    """Collects the parts of the longest intervals while a recording is read once, or a trace runs.

    Tables are kept until all that they belong to is settled; then what can still be among the
    longest takes its parts from them.
    """

    intervals: LongestIntervals
    most: int = MAX_PARTS
    """Parts of each that are kept."""
    most_rows: int = 0
    """Of the tables that are kept, however little is settled; 0: no bound."""
    _rows: int = 0
    _tables: deque[tuple[int, Interruptions]] = field(default_factory=deque)
    """With the end of the last interruption in each."""
    _newest_ns: int = 0
    _by_start: _Collectors = field(default_factory=dict)

    def add(self, chunk: Interruptions) -> None:
        """Takes a table that the intervals know already."""
        noise = select(chunk, chunk["victim_tid"] != 0)
        if not len(noise):
            return
        last_ns = int((noise["start_ns"] + noise["gross_ns"]).max())
        self._tables.append((last_ns, noise))
        self._rows += len(noise)
        self._newest_ns = max(self._newest_ns, last_ns)
        settled_ns = self._newest_ns - _SETTLED_NS
        if len(self._tables) > _TABLES and self._tables[_TABLES // 2][0] < settled_ns:
            self._settle(settled_ns)
        while self.most_rows and self._rows > self.most_rows and len(self._tables) > 1:
            self._settle(self._tables[0][0] + 1)

    def _settle(self, before_ns: int) -> None:
        intervals = self.intervals.candidates()
        known = {(one.cpu, one.start_ns) for one in intervals}
        self._by_start = {key: one for key, one in self._by_start.items() if key in known}
        while self._tables and self._tables[0][0] < before_ns:
            table = self._tables.popleft()[1]
            self._rows -= len(table)
            self._collect(intervals, table, self._by_start)

    def _collect(
        self, intervals: Sequence[NoiseInterval], table: Interruptions, into: _Collectors
    ) -> None:
        first_ns, last_ns = int(table["start_ns"].min()), int(table["start_ns"].max())
        for interval in intervals:
            if interval.start_ns <= last_ns and interval.end_ns >= first_ns:
                key = interval.cpu, interval.start_ns
                collector = into.setdefault(key, _Collector(interval, self.most))
                collector.interval = interval
                collector.add(table)

    def so_far(self) -> list[_Collector]:
        """Of the longest intervals, longest first; may be called again after more tables."""
        worst = self.intervals.worst()
        keys = [(one.cpu, one.start_ns) for one in worst]
        found = {key: replace(self._by_start[key]) for key in keys if key in self._by_start}
        for _, table in self._tables:
            self._collect(worst, table, found)
        # A damaged file can have intervals of what is no interruption.
        collectors = [
            found.get(key) or _Collector(one) for key, one in zip(keys, worst, strict=True)
        ]
        for collector, interval in zip(collectors, worst, strict=True):
            collector.interval = interval
        return collectors

    def results(
        self, sources: Sequence[Source], triggers: Sequence[Trigger]
    ) -> list[WorstInterruption]:
        """The same with the names of all; the lists are those that the tables index."""
        return [one.result(sources, triggers) for one in self.so_far()]


def interruption_of(
    interval: NoiseInterval,
    table: Interruptions,
    sources: Sequence[Source],
    triggers: Sequence[Trigger],
) -> WorstInterruption:
    """An interval with its parts, which are among the rows of a table."""
    collector = _Collector(interval)
    collector.add(table)
    return collector.result(sources, triggers)


def worst_external(
    summary: Summary, worst: Sequence[WorstInterruption]
) -> WorstInterruption | None:
    """The first that is noise: not mostly the turn of a victim or contention. None: no such one."""
    return next((one for one in worst if not is_aside(summary, one)), None)


def is_aside(summary: Summary, one: WorstInterruption) -> bool:
    """Whether it is mostly the turn of a victim or contention: no noise."""
    cpu = one.interval.cpu
    if cpu not in summary.cpu_victims or not one.parts:
        return False
    largest = max(one.parts, key=lambda part: part.net_ns)
    aside = SetAside.on(cpu, summary.cpu_victims, summary.directory)
    return largest.tid != 0 and aside.includes(largest.source, Trigger(tid=largest.tid))


def with_external(
    recording: Recording, summary: Summary, worst: tuple[WorstInterruption, ...]
) -> tuple[WorstInterruption, ...]:
    """``worst``, and where none of them is noise, behind them the longest that is. The recording is
    read again for that, without the turns of victims and contention."""
    if not worst or worst_external(summary, worst):
        return worst
    return (*worst, *longest_external(recording, summary.cpu_victims, 1))


def longest_external(
    recording: Recording, whose: CpuVictims, keep: int, most_parts: int = MAX_PARTS
) -> list[WorstInterruption]:
    """The longest intervals without the turns of victims and contention, longest first."""
    intervals = LongestIntervals(keep)
    parts = PartsOfLongest(intervals, most_parts)
    for chunk in recording.all_chunks():
        external = without_aside(interrupting(chunk), recording.sources, whose, recording.directory)
        intervals.add(external)
        parts.add(external)
    return parts.results(recording.sources, recording.triggers)


def without_aside(
    table: Interruptions, sources: Sequence[Source], whose: CpuVictims, directory: TaskDirectory
) -> Interruptions:
    """The external noise of a table, nested interruptions as well: what they are in may be gone.
    ``whose``: the victims of CPUs, whose turns are no noise."""
    external = (table["victim_tid"] != 0) & (table["origin"] != int(Origin.SELF))
    threads = np.array([one.noise_class == "thread" for one in sources], bool)
    ran = np.flatnonzero(external & threads.take(table["source"]) & (table["tid"] != 0))
    keys = np.stack([table[name][ran].astype(np.int64) for name in ("cpu", "source", "tid")], 1)
    kinds, which = np.unique(keys, axis=0, return_inverse=True)
    aside = np.array(
        [
            cpu in whose
            and SetAside.on(cpu, whose, directory).includes(sources[source], Trigger(tid=tid))
            for cpu, source, tid in kinds.tolist()
        ],
        bool,
    )
    external[ran[aside[which.reshape(-1)]]] = False
    return select(table, external)


def summarize_with_worst(
    recording: Recording,
    keep: int,
    tap: Callable[[Interruptions], None] | None = None,
    most_parts: int = MAX_PARTS,
) -> tuple[Summary, tuple[WorstInterruption, ...]]:
    """The summary, and the longest intervals, longest first, each with its ``most_parts`` largest
    parts. Reads the recording once; ``tap`` is given all of its chunks as well."""
    intervals = LongestIntervals(keep)
    summarizer = Summarizer(
        recording.cpus,
        recording.sources,
        recording.triggers,
        recording.directory,
        intervals=intervals,
    )
    parts = PartsOfLongest(intervals, most_parts)
    for chunk in read_ahead(recording.all_chunks()):
        summarizer.add(chunk)
        parts.add(interrupting(chunk))
        if tap:
            tap(chunk)
    summary = summary_from(recording, summarizer)
    return summary, tuple(parts.results(recording.sources, recording.triggers))
