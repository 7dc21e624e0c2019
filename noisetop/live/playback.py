"""A recording, summarised period by period as the live view would have shown it.

Period and total go through the Summarizer of the live view and of the report. A period has what
ended in it and its own part of the threads that go on (noisetop.live.period_split).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from noisetop.events.interruption import INTERRUPTION, Interruptions
from noisetop.events.victim_time import VictimTime, merged
from noisetop.events.waits import WaitBook
from noisetop.live.period_split import PeriodSplitter
from noisetop.live.periods import Periods
from noisetop.live.worst_moments import MOMENTS_KEPT, PARTS_KEPT
from noisetop.recording.prefetch import read_ahead
from noisetop.recording.recording import Recording
from noisetop.recording.thread_accounts import PeriodAccount
from noisetop.recording.time_index import TimeIndex
from noisetop.summary.cpu_victim import Claims, CpuVictims
from noisetop.summary.recorded import cpu_victims_of
from noisetop.summary.summarizer import Summarizer
from noisetop.summary.summary import Summary
from noisetop.summary.worst import WorstInterruption, longest_external, summarize_with_worst

_PREFIX_EVERY = 32
_BACK, _TOTALS = 8, 64
"""Totals that are made for steps back, and that are kept: some 300 KiB each."""
_NONE = np.empty(0, INTERRUPTION)


@dataclass(slots=True)
class Playback:
    """Of one recording, which load() reads. Not to be used from two threads at a time."""

    recording: Recording
    periods: Periods
    worst: tuple[WorstInterruption, ...] = ()
    """Longest intervals of noise, longest first; empty until find_worst()."""
    _index: TimeIndex = field(default_factory=TimeIndex)
    _accounts: list[PeriodAccount] = field(default_factory=list)
    """Of the first periods: the others are not told yet."""
    _victims_until: dict[int, dict[int, VictimTime]] = field(default_factory=dict)
    """By number of periods from the start, now and then."""
    _total: tuple[int, int, Summarizer] | None = None
    """The last one since the start: up to which period, with how many accounts, and its sums."""

    _totals: dict[int, Summary] = field(default_factory=dict)
    """Since the start, by number of periods: the latest that were asked for."""
    _prepared: int = 0
    """Periods from the start whose totals prepare_total() has made."""

    def load(self, progress: Callable[[float], None] = lambda share: None) -> None:
        """Reads the recording once; ``progress`` is told which share of its time that is so far.
        Raises NoisetopError when it is damaged."""
        recording, accounts = self.recording, self.recording.accounts
        read = replace(recording, read_chunks=accounts.chunks) if accounts else recording
        summarizer = self._summarizer()
        for table in read_ahead(read.all_chunks()):
            self._index.add(table)
            summarizer.add(table)
            read_ns = self._index.until_ns - recording.start_ns
            progress(min(max(read_ns / max(recording.duration_ns, 1), 0.0), 1.0))
        recording.damage = read.damage
        self._total = len(self.periods), self.accounted, summarizer

    def find_worst(self) -> None:
        """Finds the longest intervals of noise, once it is loaded."""
        self.worst = tuple(self.moments_of(0, len(self.periods)))

    def moments_of(self, first: int, until: int) -> Sequence[WorstInterruption]:
        """The longest intervals of noise that ended in these periods, longest first; without turns
        of victims and contention, as far as it is known whose the CPUs are. One that began before
        is whole where its interruptions ended in them."""
        # Period by period, as what nothing accounts for comes behind the others of its period.
        periods = range(first, until)
        tables = [table for one in periods for table in self._tables(one, one + 1)]
        part = replace(self.recording, read_chunks=lambda: iter(tables), whole=self.recording)
        whose = self.cpu_victims(len(self.periods))
        if whose:
            return longest_external(part, whose, MOMENTS_KEPT, PARTS_KEPT)
        return summarize_with_worst(part, MOMENTS_KEPT, most_parts=PARTS_KEPT)[1]

    @property
    def accounted(self) -> int:
        """Periods, from the first on, of which it is told where the time of threads went."""
        return len(self._accounts) if self.recording.accounts else len(self.periods)

    def account_next(self) -> None:
        """Tells it of one period more; there must be one, and all is loaded."""
        accounts, number = self.recording.accounts, len(self._accounts)
        assert accounts is not None
        if not number:
            accounts.begin(self.recording.start_ns)
        end_ns = self.periods.bounds_ns[number + 1]
        self._accounts.append(
            accounts.account(
                self._index.ended(self._after_ns(number), end_ns),
                self._index.going_on(end_ns),
                end_ns,
                last=number + 1 == len(self.periods),
            )
        )

    def total(self, until: int) -> Summary:
        """Since the start, up to the end of so many periods."""
        if until in self._totals:
            return self._totals[until]
        if self._total is not None:
            done, accounted, summarizer = self._total
            # It lacks nothing that is told of its periods by now.
            if done <= until and accounted >= min(done, self.accounted):
                return self._total_from(done, until, summarizer)
        # A step back takes all rows anew: those that may follow it are made along the way.
        summarizer, done = self._summarizer(), 0
        for number in range(max(until - _BACK, 1), until):
            self._total_from(done, number, summarizer)
            done = number
        return self._total_from(done, until, summarizer)

    def _total_from(self, done: int, until: int, summarizer: Summarizer) -> Summary:
        """The total with some periods more; those of which all is told are kept for a while."""
        for table in self._tables(done, until):
            summarizer.add(table)
        self._total = until, self.accounted, summarizer
        summary = self._summary(summarizer, 0, until)
        if until <= self.accounted:
            self._totals[until] = summary
            while len(self._totals) > _TOTALS:
                del self._totals[next(iter(self._totals))]
        return summary

    def prepare_total(self) -> bool:
        """Makes one of the totals since the start that are kept. False: there are too many to keep,
        or all are made."""
        count = min(self.accounted, len(self.periods))
        if len(self.periods) > _TOTALS or self._prepared >= count:
            return False
        self._prepared += 1
        self.total(self._prepared)
        return True

    def span(self, first: int, until: int) -> Summary:
        """Of the periods from ``first`` up to ``until``, without that one: their sum."""
        summarizer = self._summarizer()
        for table in self.tables(first, until):
            summarizer.add(table)
        return self._summary(summarizer, first, until)

    def tables(self, first: int, until: int) -> list[Interruptions]:
        """What these periods have: rows that ended in them, and parts of what went on."""
        start_ns, end_ns = self.periods.bounds_ns[first], self.periods.bounds_ns[until]
        splitter = PeriodSplitter()
        splitter.split(_NONE, self._index.going_on(start_ns), start_ns)
        tables = [splitter.rest_of(table) for table in self._tables(first, until)]
        return [*tables, splitter.split(_NONE, self._index.going_on(end_ns), end_ns)]

    def _tables(self, first: int, until: int) -> list[Interruptions]:
        end_ns = self.periods.bounds_ns[until]
        found = self._index.ended(self._after_ns(first), end_ns) if first < until else []
        return [*found, *(one.unattributed for one in self._accounts[first:until])]

    def _after_ns(self, first: int) -> int:
        """What ended at the very start belongs to the first period."""
        return self.periods.bounds_ns[first] - (first == 0)

    def _summarizer(self) -> Summarizer:
        recording = self.recording
        return Summarizer(
            recording.cpus, recording.sources, recording.triggers, recording.directory
        )

    def _summary(self, summarizer: Summarizer, first: int, until: int) -> Summary:
        part = self.part(first, until)
        return summarizer.summary(
            part.start_ns,
            part.end_ns,
            part.counters,
            tasks=part.tasks,
            waits=part.waits.by_task(),
            victims=part.victims,
            cpu_victims=self.cpu_victims(until),
        )

    def part(self, first: int, until: int) -> Recording:
        """These periods as a recording."""
        bounds, whole = self.periods.bounds_ns, (first, until) == (0, len(self.periods))
        known = self._accounts[first:until] if until <= self.accounted else ()
        waits = WaitBook()
        for one in known:
            waits.merge(WaitBook.of(one.waits))
        recording = self.recording
        if recording.accounts is None and whole:
            return recording
        return replace(
            recording,
            start_ns=bounds[first],
            end_ns=bounds[until],
            read_chunks=lambda: iter(self.tables(first, until)),
            counters=recording.counters
            if whole
            else recording.counters.part(bounds[first], bounds[until]),
            waits=waits,
            victims=self._victims(first, until) if known else {},
            accounts=None,
            whole=recording,
        )

    def _victims(self, first: int, until: int) -> dict[int, VictimTime]:
        """Where their time went in these periods, which are told."""
        done, found = first, {}
        if first == 0:
            known = list(self._victims_until)  # another thread may add to it
            done = max((one for one in known if one <= until), default=0)
            found = self._victims_until.get(done, {})
        for number in range(done, until):
            found = merged(found, self._accounts[number].victims)
            if first == 0 and (number + 1) % _PREFIX_EVERY == 0:
                self._victims_until[number + 1] = found
        return dict(found)

    def cpu_victims(self, until: int) -> CpuVictims:
        """Whose the CPUs are, by all up to the end of so many periods, as the live view tells it;
        where that is not known by period, by the whole recording."""
        recording = self.recording
        if recording.accounts is None:
            return cpu_victims_of(recording)
        if until > self.accounted:
            return {}
        return Claims.of(recording.metadata).victims(
            recording.cpus,
            self._victims(0, until),
            recording.directory,
            self.periods.since_start_ns(until),
        )
