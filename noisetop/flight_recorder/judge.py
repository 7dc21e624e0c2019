"""Whether a noise interval is external, from the few records that it is made of: interruptions, and
waits that nothing accounts for."""

from __future__ import annotations

from dataclasses import dataclass, field

from noisetop.events.decoder import RecordReader
from noisetop.events.interruption import Flag, Interruptions, interrupting
from noisetop.events.layout import Layout
from noisetop.events.origin import Origin
from noisetop.events.records import Pieces
from noisetop.events.source_names import Names
from noisetop.events.task_directory import Details, TaskDirectory
from noisetop.flight_recorder.needed import LONGEST_NS, needed_of
from noisetop.summary.cpu_victim import CpuVictims
from noisetop.summary.max_single import LongestIntervals, NoiseInterval
from noisetop.summary.worst import without_aside
from noisetop.tables.rows import select


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
        self, cpu: int, start_ns: int, end_ns: int, pieces: Pieces, least_ns: int
    ) -> NoiseInterval | None:
        """The longest interval of external noise between two moments on a CPU; None: there is none
        of ``least_ns``. ``pieces``: records from before up to then."""
        # Who acted can only show that something is the victim's own: most is decided without.
        largest = self._intervals(cpu, start_ns, end_ns, pieces._replace(triggers=()), 1)
        if not largest or largest[0].noise_ns < least_ns:
            return None
        one = largest[0]
        if self._intervals(cpu, one.start_ns, one.end_ns, pieces, 1) == largest:
            return one
        found = self._intervals(cpu, start_ns, end_ns, pieces, 1)
        return found[0] if found and found[0].noise_ns >= least_ns else None

    def totals(
        self,
        cpu: int,
        start_ns: int,
        end_ns: int,
        pieces: Pieces,
        *,
        least_ns: int,
        period_ns: int,
        per_entry_ns: int = 0,
    ) -> dict[int, int]:
        """The sum of all such intervals that are no shorter than ``least_ns``, by the start of the
        period in which they began, and ``per_entry_ns`` for each entry into the kernel in them;
        periods are counted from ``start_ns``."""
        sums: dict[int, int] = {}

        def add(at_ns: int, ns: int) -> None:
            period = start_ns + (at_ns - start_ns) // period_ns * period_ns
            sums[period] = sums.get(period, 0) + ns

        external = self._external(cpu, start_ns, end_ns + LONGEST_NS, pieces)
        for one in _longest(external, None):
            if one.noise_ns >= least_ns and one.start_ns <= end_ns:
                add(one.start_ns, one.noise_ns)
        entries = external["start_ns"][Flag.ENTRY.among(external["flags"])]
        for at_ns in entries[entries <= end_ns].tolist() if per_entry_ns else ():
            add(at_ns, per_entry_ns)
        return sums

    def _intervals(
        self, cpu: int, start_ns: int, end_ns: int, pieces: Pieces, keep: int | None
    ) -> list[NoiseInterval]:
        return _longest(self._external(cpu, start_ns, end_ns, pieces), keep)

    def _external(self, cpu: int, start_ns: int, end_ns: int, pieces: Pieces) -> Interruptions:
        """What is not the doing of the victim, nested or not."""
        reader = RecordReader(self.layout, self.names, own_pid=self.own_pid)
        reader.restart(start_ns)
        records = needed_of(self.layout, pieces, cpu, start_ns, end_ns)
        table = interrupting(reader.read(records, last=True))
        directory = TaskDirectory(reader.tasks, reader.task_names.infos, self.details)
        table = select(table, table["origin"] != int(Origin.SELF))
        return without_aside(table, reader.namer.sources, self.whose, directory)


def _longest(external: Interruptions, keep: int | None) -> list[NoiseInterval]:
    """The longest intervals of what is no part of something else; None: all of them."""
    table = select(external, Flag.OUTERMOST.among(external["flags"]))
    if not len(table):
        return []
    intervals = LongestIntervals(keep or len(table))
    intervals.add(table)
    return intervals.worst()
