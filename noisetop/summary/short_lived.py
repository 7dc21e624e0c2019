"""Tasks that are started again and again: as one row, with who starts them and how often."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from noisetop._tables import add_up
from noisetop.events.interruption import OTHER, Interruptions
from noisetop.events.task_directory import TaskDirectory
from noisetop.events.task_names import TaskInfo
from noisetop.events.trigger import Trigger
from noisetop.summary.trigger_totals import TriggerSummary, largest_first
from noisetop.tables.dictionary import DictionaryEncoder
from noisetop.tables.group_sums import COUNT, TOTAL, Sums, no_sums, widened

_LIMIT = 1 << 16
"""Tasks that are kept apart: some machines start that many in a few minutes."""
_FEWEST = 2
"""Starts that make a row."""


STARTED = "started"
"""Context of what stands for a trigger where that is all the tasks of a row."""


@dataclass(frozen=True, slots=True)
class ShortLived:
    """Tasks of one name that one process started in the period, as far as they took time of a
    victim on a watched CPU."""

    name: str
    starter: int
    """PID of the process that started them; of threads their own process."""
    starts: int
    count: int
    """Interruptions by them."""
    net_ns: int

    @property
    def trigger(self) -> Trigger:
        """Stands for all of them among the tasks of a source."""
        return Trigger(self.name, self.starter, context=STARTED)


RowsByTask = Mapping[tuple[str, int], Trigger]
"""What stands for the tasks of a name that a process started."""


def rows_by_task(rows: Iterable[ShortLived]) -> RowsByTask:
    """For with_short_lived()."""
    return {(one.name, one.starter): one.trigger for one in rows}


def with_short_lived(
    tasks: tuple[TriggerSummary, ...], rows: RowsByTask, directory: TaskDirectory
) -> tuple[TriggerSummary, ...]:
    """The tasks of a source, each once, largest first; those of a row as one."""
    if not rows or not tasks:
        return tasks
    tids = (one.trigger.tid for one in tasks)
    rows_of = [
        rows.get((directory.name(tid), starter_of(tid, directory.infos.get(tid)))) for tid in tids
    ]
    if not any(rows_of):
        return tasks
    return largest_first(
        replace(one, trigger=row) if row else one for one, row in zip(tasks, rows_of, strict=True)
    )


class _Group(NamedTuple):
    name: str
    starter: int


@dataclass(slots=True)
class _Sum:
    starts: int = 0
    count: int = 0
    net_ns: int = 0


@dataclass(slots=True)
class StartedTasks:
    """Sums by task, in bounded memory: of many tasks the older ones are kept as groups only."""

    limit: int = _LIMIT
    """How many are kept apart."""
    _tids: list[int] = field(default_factory=list)
    """Of each row of the sums."""
    _sums: Sums = field(default_factory=no_sums)
    _encoder: DictionaryEncoder = field(default_factory=lambda: DictionaryEncoder(1))
    _folded: dict[_Group, _Sum] = field(default_factory=dict)
    _folded_ns: int = 0
    """No task that was started up to then counts as a start any more."""
    _first_ns: int = 0
    """When the first interruption began."""

    def add(self, threads: Interruptions, directory: TaskDirectory) -> None:
        """Adds interruptions of victims by threads; ``directory`` knows who these are."""
        if not len(threads):
            return
        self._first_ns = self._first_ns or int(threads["start_ns"].min())
        tids = threads["tid"]
        rows = self._encoder.numbers((tids,), lambda row: self._new(int(tids[row])))
        self._sums = widened(self._sums, len(self._tids))
        add_up((rows, threads["net_ns"], threads["net_ns"]), self._sums, None)
        if len(self._tids) > self.limit:
            self.fold(directory)

    def fold(self, directory: TaskDirectory) -> None:
        """Keeps all tasks so far as groups, and of these those with most starts under their name.
        The others count with who started them, or where these are too many with nobody."""
        self._folded = self._groups(directory, self._first_ns)
        infos = (directory.infos.get(tid) for tid in self._tids)
        started_ns = (info.started_ns for info in infos if info)
        self._folded_ns = max([self._folded_ns, *started_ns])
        self._tids, self._sums, self._encoder = [], no_sums(), DictionaryEncoder(1)
        for other in (lambda one: _Group(OTHER, one.starter), lambda one: _Group(OTHER, 0)):
            self._folded = _bounded(self._folded, self.limit, other)

    def _new(self, tid: int) -> int:
        self._tids.append(tid)
        return len(self._tids) - 1

    def rows(self, directory: TaskDirectory, start_ns: int) -> tuple[ShortLived, ...]:
        """Tasks started since ``start_ns`` (CLOCK_MONOTONIC), most starts first. One that was
        started alone is none of them."""
        found = [
            ShortLived(group.name, group.starter, one.starts, one.count, one.net_ns)
            for group, one in self._groups(directory, start_ns).items()
            if one.starts >= _FEWEST
        ]
        return tuple(sorted(found, key=lambda one: (-one.starts, -one.net_ns, one.name)))

    def _groups(self, directory: TaskDirectory, start_ns: int) -> dict[_Group, _Sum]:
        found = {
            group: _Sum(one.starts, one.count, one.net_ns) for group, one in self._folded.items()
        }
        for tid, sums in zip(self._tids, self._sums.tolist(), strict=True):
            info = directory.infos.get(tid)
            if info is None or info.kernel or info.started_ns < max(start_ns, 1):
                continue
            one = found.setdefault(_Group(directory.name(tid), starter_of(tid, info)), _Sum())
            one.starts += info.started_ns > self._folded_ns
            one.count += sums[COUNT]
            one.net_ns += sums[TOTAL]
        return found


def _bounded(
    groups: Mapping[_Group, _Sum], kept: int, other: Callable[[_Group], _Group]
) -> dict[_Group, _Sum]:
    """The ``kept`` groups with most starts, all others as what ``other`` says."""
    if len(groups) <= kept:
        return dict(groups)
    ordered = sorted(groups, key=lambda one: (-groups[one].starts, one))
    found: dict[_Group, _Sum] = {}
    for place, group in enumerate(ordered):
        one = found.setdefault(group if place < kept // 2 else other(group), _Sum())
        one.starts += groups[group].starts
        one.count += groups[group].count
        one.net_ns += groups[group].net_ns
    return found


def starter_of(tid: int, info: TaskInfo | None) -> int:
    """PID of the process that started a task; of a thread that is its own. 0: not known."""
    if info is None:
        return 0
    return info.parent if tid == info.tgid else info.tgid
