"""Who took time from whom: noise by the control group that lost it and by what caused it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from noisetop._tables import Groups, add_up
from noisetop.events.interruption import OTHER, SIDE_LEVEL, Interruptions, Source
from noisetop.events.origin import Origin
from noisetop.events.task_directory import TaskDirectory
from noisetop.events.trigger import Trigger
from noisetop.metrics.bounded_series import Amounts, Key
from noisetop.metrics.label_values import cgroup_value, source_value
from noisetop.tables.group_sums import TOTAL, no_sums, widened
from noisetop.tables.rows import select

_BY_TASKS = frozenset({Origin.SELF, Origin.PROGRAM, Origin.OTHERS})
_THREAD = "thread"


class Group(NamedTuple):
    """A control group, as labels tell it."""

    name: str
    pod: str
    """UID; empty: it belongs to none."""


OTHER_PAIR: Key = (OTHER, "", OTHER, "")


@dataclass(slots=True)
class StolenTime:
    """Finds the two sides of interruptions. The lists grow while tables are read."""

    sources: Sequence[Source]
    triggers: Sequence[Trigger]
    directory: TaskDirectory
    _groups: dict[int, Group] = field(default_factory=dict)
    """By tid."""

    def of(self, table: Interruptions) -> dict[Key, Amounts]:
        """Net time in ns by victim, pod of the victim, culprit and pod of the culprit; together the
        noise of the table."""
        noise = select(table, (table["victim_tid"] != 0) & (table["level"] != SIDE_LEVEL))
        if not len(noise):
            return {}
        columns = tuple(
            noise[name] for name in ("source", "trigger", "victim_tid", "tid", "origin")
        )
        numbers = np.empty(len(noise), np.uint32)
        first = Groups(len(columns)).numbers(columns, numbers)
        sums = widened(no_sums(), len(first))
        add_up((numbers, noise["net_ns"], noise["start_ns"]), sums, None)
        found: dict[Key, int] = {}
        rows = zip(*(column[first].tolist() for column in columns), strict=True)
        for row, net_ns in zip(rows, sums[:, TOTAL].tolist(), strict=True):
            source, trigger, victim, tid, origin = row
            key = (*self.group(victim), *self._culprit(source, trigger, tid, origin, victim))
            found[key] = found.get(key, 0) + net_ns
        return {key: (net_ns,) for key, net_ns in found.items()}

    def group(self, tid: int) -> Group:
        """The control group of a task."""
        if tid not in self._groups:
            names = self.directory.cgroup(tid)
            self._groups[tid] = Group(cgroup_value(names), names.pod)
        return self._groups[tid]

    def _culprit(self, source: int, trigger: int, tid: int, origin: int, victim: int) -> Group:
        """The control group of the task that caused it; where no task did, the source."""
        if origin == Origin.SELF:
            return self.group(victim)
        if origin in _BY_TASKS:
            actor = acting_task(self.sources[source], self.triggers[trigger], tid, self.directory)
            if actor:
                return self.group(actor)
        return Group(source_value(self.sources[source]), "")


def acting_task(source: Source, trigger: Trigger, tid: int, directory: TaskDirectory) -> int:
    """The task whose doing an interruption was, as noisetop.events.origin finds it; 0: none."""
    about = directory.infos.get(tid)
    if source.noise_class == _THREAD and about is not None and not about.kernel:
        return tid
    if trigger.origin:
        return int(trigger.origin.rpartition(" ")[2])
    return trigger.tid
