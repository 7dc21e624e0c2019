"""What tasks are called, by moment: programs are started by tasks that go by another name first.
And what they belong to: process, parent, control group."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt

from noisetop.events.interruption import task_name
from noisetop.events.layout import Events

_REMEMBERED = 4
"""Names of one number: older ones are forgotten, so that memory is bounded by the numbers."""
_NEVER = (1 << 64) - 1
"""CLOCK_MONOTONIC of what did not happen."""
PF_KTHREAD = 0x00200000
"""``include/linux/sched.h``."""


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """What a task belonged to when it was last named."""

    tgid: int
    """Its process."""
    parent: int
    """The process that started that; 0: the kernel."""
    kernel: bool
    """A kernel thread."""
    cgroup: int
    """Id of its control group (v2), the number of the folder's inode; 0: not known."""
    started_ns: int = field(default=0, compare=False)
    """When it was started, CLOCK_MONOTONIC, to 1 µs; 0: not known."""


def started_ns(records: npt.NDArray[np.void]) -> list[int]:
    """When the tasks of these records (``struct noise_task_name``) were started, CLOCK_MONOTONIC,
    0 where they do not tell."""
    if "age_us" not in (records.dtype.names or ()):
        return [0] * len(records)
    age_ns = records["age_us"].astype(np.uint64) * np.uint64(1000)
    started: list[int] = (records["time_ns"] - np.minimum(age_ns, records["time_ns"])).tolist()
    return started


@dataclass(slots=True)
class TaskNames:
    """Grows while records are read; CPUs may tell of one task in any order."""

    latest: dict[int, str] = field(default_factory=dict)
    """By tid."""
    infos: dict[int, TaskInfo] = field(default_factory=dict)
    """By tid; recordings of format 1 do not tell it."""
    version: int = 0
    """Another one whenever a name may have become another."""
    _since_ns: dict[int, list[int]] = field(default_factory=dict)
    _names: dict[int, list[str]] = field(default_factory=dict)
    _renamed: set[int] = field(default_factory=set)
    _renamed_now: npt.NDArray[np.uint32] | None = None
    """The same for NumPy, once it was asked for."""
    _told: dict[int, None] = field(default_factory=dict)
    """Tids, those told of longest ago first."""

    def add(self, records: Events, told: np.dtype[np.void] | None = None) -> None:
        """Takes records that tell names; ``told`` is the type of ``struct noise_task_name``, None
        where there is none."""
        if told is not None:
            self._add_infos(records.view(told))
        for tid, comm, time_ns in zip(
            records["tid"].tolist(),
            records["comm"].tolist(),
            records["start_ns"].tolist(),
            strict=True,
        ):
            self._add(tid, task_name(comm), time_ns)
            self._told.pop(tid, None)
            self._told[tid] = None

    @property
    def task_count(self) -> int:
        """Tasks known by name."""
        return len(self._told)

    def forget(self, is_alive: Callable[[int], bool], kept: int) -> None:
        """Forgets tasks that are gone, but for the ``kept`` ones told of last. The kernel side may
        not tell again of those that live."""
        for tid in list(self._told)[: -kept or None]:
            if not is_alive(tid):
                for about in (self.latest, self.infos, self._since_ns, self._names, self._told):
                    about.pop(tid, None)
                self._renamed.discard(tid)
        self._renamed_now = None
        self.version += 1

    def _add_infos(self, records: npt.NDArray[np.void]) -> None:
        columns = ("tid", "tgid", "parent_tgid", "task_flags", "cgroup")
        rows = zip(*(records[name].tolist() for name in columns), started_ns(records), strict=True)
        for tid, tgid, parent, flags, cgroup, began_ns in rows:
            info = TaskInfo(tgid, parent, bool(flags & PF_KTHREAD), cgroup, began_ns)
            if self.infos.get(tid) != info:
                self.version += 1
            self.infos[tid] = info

    def _add(self, tid: int, name: str, time_ns: int) -> None:
        since = self._since_ns.setdefault(tid, [])
        names = self._names.setdefault(tid, [])
        at = bisect_right(since, time_ns)
        if at and names[at - 1] == name:
            return
        self.version += 1
        if at < len(names) and names[at] == name:
            since[at] = time_ns
            return
        since.insert(at, time_ns)
        names.insert(at, name)
        del since[:-_REMEMBERED], names[:-_REMEMBERED]
        self.latest[tid] = names[-1]
        if len(names) > 1:
            self._renamed.add(tid)
            self._renamed_now = None

    def name(self, tid: int, time_ns: int) -> str:
        """As of a moment; the first one told where that is older, ``?`` where none was."""
        if tid not in self._names:
            return "?"
        return self._names[tid][max(bisect_right(self._since_ns[tid], time_ns) - 1, 0)]

    def places(
        self, tids: npt.NDArray[np.integer[Any]], time_ns: npt.NDArray[np.uint64]
    ) -> npt.NDArray[np.uint64]:
        """For each tid and moment a number that tells the names of this tid apart."""
        places = np.zeros(len(tids), np.uint64)
        if not self._renamed:
            return places
        if self._renamed_now is None:
            self._renamed_now = np.fromiter(self._renamed, np.uint32)
        renamed = np.flatnonzero(np.isin(tids, self._renamed_now))
        found, whose = np.unique(tids[renamed], return_inverse=True)
        since = zip_longest(*(self._since_ns[tid] for tid in found.tolist()), fillvalue=_NEVER)
        at = np.zeros(len(renamed), np.uint64)
        for column in since:  # the first names of all, their second ones, and so on
            at += np.array(column, np.uint64)[whose] <= time_ns[renamed]
        places[renamed] = np.maximum(at, 1) - 1
        return places
