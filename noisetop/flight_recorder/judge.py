"""Whether a noise interval is external, from the few records that it is made of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from noisetop.events.decoder import RecordReader
from noisetop.events.interruption import Flag, interrupting
from noisetop.events.layout import Events, Layout
from noisetop.events.origin import Origin
from noisetop.events.source_names import Names
from noisetop.events.task_directory import Details, TaskDirectory
from noisetop.flight_recorder.needed import needed_records
from noisetop.summary.cpu_victim import CpuVictims
from noisetop.summary.max_single import LongestIntervals, NoiseInterval
from noisetop.summary.worst import without_aside
from noisetop.tables.rows import joined, select


@dataclass(slots=True)
class Judge:
    """Decodes the records of one interval at a time; keeps nothing of them."""

    layout: Layout
    names: Names
    details: Details
    own_pid: int
    whose: CpuVictims = field(default_factory=dict)
    """The victims of CPUs, whose turns are no noise; from the last recording that was made."""

    def longest(
        self, cpu: int, start_ns: int, end_ns: int, pieces: Iterable[Events]
    ) -> NoiseInterval | None:
        """The longest interval of external noise between two moments on a CPU; None: there is none.
        ``pieces``: records from before up to then."""
        found = self._intervals(cpu, start_ns, end_ns, pieces, 1)
        return found[0] if found else None

    def total_ns(
        self, cpu: int, start_ns: int, end_ns: int, pieces: Iterable[Events], least_ns: int
    ) -> int:
        """The sum of all such intervals that are no shorter than ``least_ns``."""
        found = self._intervals(cpu, start_ns, end_ns, pieces, None)
        return sum(one.noise_ns for one in found if one.noise_ns >= least_ns)

    def _intervals(
        self, cpu: int, start_ns: int, end_ns: int, pieces: Iterable[Events], keep: int | None
    ) -> list[NoiseInterval]:
        reader = RecordReader(self.layout, self.names, own_pid=self.own_pid)
        reader.restart(start_ns)
        rows = [needed_records(self.layout, one, cpu, start_ns, end_ns) for one in pieces]
        table = interrupting(reader.read(joined(rows), last=True))
        outermost = table["flags"] & np.uint8(Flag.OUTERMOST) != 0
        directory = TaskDirectory(reader.tasks, reader.task_names.infos, self.details)
        table = select(table, outermost & (table["origin"] != Origin.SELF))
        table = without_aside(table, reader.namer.sources, self.whose, directory)
        if not len(table):
            return []
        intervals = LongestIntervals(keep or len(table))
        intervals.add(table)
        return intervals.worst()
