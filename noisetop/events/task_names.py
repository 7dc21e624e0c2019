"""What tasks are called, by moment: programs are started by tasks that go by another name first."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from noisetop.events.interruption import task_name
from noisetop.events.layout import Events

_REMEMBERED = 4
"""Names of one number: older ones are forgotten, so that memory is bounded by the numbers."""


@dataclass(slots=True)
class TaskNames:
    """Grows while records are read; CPUs may tell of one task in any order."""

    latest: dict[int, str] = field(default_factory=dict)
    """By tid."""
    version: int = 0
    """Another one whenever a name may have become another."""
    _since_ns: dict[int, list[int]] = field(default_factory=dict)
    _names: dict[int, list[str]] = field(default_factory=dict)
    _renamed: set[int] = field(default_factory=set)

    def add(self, records: Events) -> None:
        """Takes records that tell names."""
        for tid, comm, time_ns in zip(
            records["tid"].tolist(),
            records["comm"].tolist(),
            records["start_ns"].tolist(),
            strict=True,
        ):
            self._add(tid, task_name(comm), time_ns)

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
        renamed = np.flatnonzero(np.isin(tids, np.fromiter(self._renamed, tids.dtype)))
        for tid in np.unique(tids[renamed]).tolist():
            mine = renamed[tids[renamed] == tid]
            since = np.array(self._since_ns[tid], np.uint64)
            at = np.searchsorted(since, time_ns[mine], "right")
            places[mine] = np.maximum(at, 1) - 1
        return places
