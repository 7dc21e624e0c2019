"""Reads a running trace, keeps its last seconds, and hands on the moments that are worth a file.

Everything is decided by closed records and by their times, not by when they come: what is found
does not depend on when the rings are read.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from noisetop.events.records import Pieces
from noisetop.flight_recorder.closed_intervals import IntervalFinder
from noisetop.flight_recorder.detectors import PERIOD_NS, Detector
from noisetop.flight_recorder.judge import Judge
from noisetop.flight_recorder.retained import Retained
from noisetop.flight_recorder.snapshot_files import Taken
from noisetop.flight_recorder.window import Chunk, Window
from noisetop.flight_recorder.writer import SnapshotWriter
from noisetop.machine.allocation import HeapTrimmer
from noisetop.machine.system import task_exists
from noisetop.recording.moment import (
    ANY_CPU,
    ASKED,
    LIMITED,
    LOOK,
    MARKS,
    SINGLE,
    TOTAL,
    TRIGGER,
    Moment,
)
from noisetop.recording.snapshot_file import Snapshot
from noisetop.text.units import format_ns
from noisetop.tracing.tracer import Tracer

_SLACK_NS = 1_000_000_000
"""That is kept beside what is asked for: until a moment is found and its file is due."""
_WRITERS_S = 0.001
"""A record of what ended may still be on its way into a ring."""
_OPEN_CHECK_NS = 1_000_000_000
_MOST_MARKS = 1000
_LOOK_NS = 1_000_000_000
"""Who the victims are is looked for in the first second."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to keep, and when to write."""

    keep_ns: int
    """Before a moment."""
    keep_bytes: int
    """Of all records in memory."""
    after_ns: int
    """After a moment."""
    hold_off_ns: int = 0
    """After a file, in which moments are passed over."""
    least_ns: int = 0
    """Shorter intervals do not count in a sum."""
    period_ns: int = PERIOD_NS
    """Of sums."""
    by_cost: bool = False
    """Whether intervals and sums are compared by their cost: their interruptions are counted."""
    looks_first: bool = False
    """Whether who the victims are is found out first: any task may be one, and a turn of the victim
    is no noise."""
    by_rank: bool = False
    """Whether the worst moments are kept, else those that reach a threshold."""
    stops: bool = False
    """Whether the first moment that is confirmed ends the run: one file at a time."""


@dataclass(slots=True)
class FlightRecorder:
    """Call poll() several times a second while the tracer runs, and finish() before it stops."""

    tracer: Tracer
    plan: Plan
    detectors: Sequence[Detector]
    writer: SnapshotWriter
    metadata: Mapping[str, Any]
    """Of every file."""
    notice: Callable[[str], None]
    passes_over: Callable[[Moment], bool]
    """Whether a file has the moment already."""
    open_ns: int = 0
    """What goes on for longer than this is told; 0: nothing is."""
    enabled: bool = True
    """Whether moments are looked for."""
    skipped: int = 0
    """Moments for which the disk was too slow."""
    _window: Window = field(init=False)
    _finder: IntervalFinder = field(init=False)
    _judge: Judge = field(init=False)
    _entry_ns: int = field(init=False)
    """What each interruption may add to the cost."""
    _due: list[Moment] = field(default_factory=list)
    """That belong into one file."""
    _unseen: list[Chunk] = field(default_factory=list)
    """In which nobody has looked for moments yet."""
    _not_before_ns: int = 0
    _looked: bool = False
    _marks: list[dict[str, Any]] = field(default_factory=list)
    _open_checked_ns: int = 0
    _open_told: set[tuple[int, int]] = field(default_factory=set)
    _heap: HeapTrimmer = field(default_factory=HeapTrimmer)

    def __post_init__(self) -> None:
        tracer, plan = self.tracer, self.plan
        retained = Retained(tracer.layout, task_exists)
        keep_ns = plan.keep_ns + plan.after_ns + _SLACK_NS
        start_ns, totals = tracer.start_ns, tracer.counters.at_start
        self._window = Window(retained, keep_ns, plan.keep_bytes, start_ns, totals)
        self._finder = IntervalFinder(tracer.layout, nested=plan.by_cost)
        self._entry_ns = tracer.calibration.most_ns if plan.by_cost else 0
        details = tracer.processes.details
        self._judge = Judge(tracer.layout, tracer.names, details, tracer.own_pid)

    def poll(self) -> None:
        """Takes what came since the last call."""
        self._look_at(self._read(time.monotonic_ns()))

    def take(self, records: Pieces, until_ns: int) -> None:
        """In the place of poll() what somebody else has read: all that ended by a moment."""
        self._look_at(self._note(records, until_ns))

    def _look_at(self, chunk: Chunk) -> None:
        self.writer.collect()
        self._judge.whose = self.writer.whose
        if self._knows_victims(chunk.until_ns):
            unseen, self._unseen = self._unseen, []
            for one in unseen:
                self._due += self._found(one)
        needed_ns = chunk.until_ns - self.plan.keep_ns
        if self._due:
            needed_ns = min(needed_ns, self._lead(self._due).start_ns - self.plan.keep_ns)
            if chunk.until_ns >= self._due_ns() and not (self.plan.stops and self.writer.busy):
                self._write_due()
        self._watch_open(chunk.until_ns)
        self._window.trim(needed_ns)
        self._heap.trim(chunk.until_ns)

    def ask(self, name: str) -> None:
        """Writes the window as it is now. ``name``: who asked."""
        now_ns = time.monotonic_ns()
        moment = Moment(ASKED, ANY_CPU, self._window.start_ns, now_ns, 0, name=name)
        self._write(moment)

    def mark(self, name: str) -> None:
        """Puts a name on this moment; the files that hold it have it."""
        self._marks = [*self._marks[-_MOST_MARKS:], {"time_ns": time.monotonic_ns(), "name": name}]

    def finish(self) -> None:
        """Writes what waits for its end."""
        self.poll()
        while not self._knows_victims(time.monotonic_ns() + _LOOK_NS):
            time.sleep(_WRITERS_S)
            self.writer.collect()
        self.poll()
        if self._due:
            self._write_due()

    def _knows_victims(self, now_ns: int) -> bool:
        """Looks at the first second; what happens meanwhile is judged after that."""
        if self.plan.looks_first and not self._looked:
            if now_ns < self.tracer.start_ns + _LOOK_NS:
                return False
            self._write(Moment(LOOK, ANY_CPU, self._window.start_ns, now_ns, 0))
        self._looked = True
        return not (self.plan.looks_first and not self.writer.written)

    def _read(self, until_ns: int) -> Chunk:
        return self._note(self.tracer.read_records(), until_ns)

    def _note(self, records: Pieces, until_ns: int) -> Chunk:
        chunk = Chunk(records, until_ns, time.monotonic_ns(), self.tracer.counters.read())
        self._window.add(chunk)
        self._unseen.append(chunk)
        return chunk

    def _found(self, chunk: Chunk) -> Iterator[Moment]:
        intervals = self._finder.add(chunk.records.events, chunk.until_ns)
        if not self.enabled:
            return
        for detector in self.detectors:
            for moment in detector.add(chunk, intervals):
                if moment.start_ns >= self._not_before_ns and not self.passes_over(moment):
                    confirmed = self._confirmed(moment)
                    if confirmed is not None and not self.passes_over(confirmed):
                        yield confirmed

    def _confirmed(self, moment: Moment) -> Moment | None:
        """With what in it is external; None: too little is."""
        if moment.kind not in (SINGLE, TOTAL):
            return moment
        recent = self._window.recent(moment.start_ns, _SLACK_NS)
        place = moment.cpu, moment.start_ns, moment.end_ns
        if moment.kind == TOTAL:
            return self._worst_period(moment, recent)
        # Of intervals that are compared by their cost the noise may be shorter.
        least_ns = 0 if self.plan.by_cost else moment.threshold_ns
        found = self._judge.longest(*place, recent, least_ns)
        if found is None:
            return None
        size_ns = moment.size_ns if self.plan.by_cost else found.noise_ns
        if size_ns < moment.threshold_ns:
            return None
        return replace(moment, start_ns=found.start_ns, end_ns=found.end_ns, size_ns=size_ns)

    def _worst_period(self, moment: Moment, recent: Pieces) -> Moment | None:
        """That for which a file is made: the worst, or the first that reached the threshold."""
        plan = self.plan
        totals = self._judge.totals(
            moment.cpu, moment.start_ns, moment.end_ns, recent,
            least_ns=plan.least_ns, period_ns=plan.period_ns, per_entry_ns=self._entry_ns,
        )  # fmt: skip
        over = [(ns, start_ns) for start_ns, ns in totals.items() if ns >= moment.threshold_ns]
        if not over:
            return None
        ns, start_ns = max(over) if plan.by_rank else min(over, key=lambda one: one[1])
        end_ns = start_ns + plan.period_ns - 1
        return replace(moment, start_ns=start_ns, end_ns=end_ns, size_ns=ns)

    def _lead(self, moments: Sequence[Moment]) -> Moment:
        """That for which the file is made: the worst, or the first that reached a threshold."""
        if self.plan.by_rank:
            return max(moments, key=lambda one: one.size_ns)
        return min(moments, key=lambda one: one.start_ns)

    def _due_ns(self) -> int:
        """When the file can be written: all that follows the worst moment has come."""
        return self._lead(self._due).end_ns + self.plan.after_ns

    def _write_due(self) -> None:
        lead = self._lead(self._due)
        self._due = []
        end_ns = self._write(lead)
        if not self.plan.by_rank:  # the rest of what reached it is in the file
            self._not_before_ns = max(lead.end_ns + self.plan.hold_off_ns, end_ns)

    def _write(self, moment: Moment) -> int:
        """The end of what is written, CLOCK_MONOTONIC in ns."""
        taken = Taken(moment, self._snapshot(moment))
        if not self.writer.put(taken):
            self.skipped += 1
            if self.skipped == 1:
                self.notice("the disk is slow: a snapshot is left out; recording goes on")
        return taken.snapshot.end_ns

    def _snapshot(self, moment: Moment) -> Snapshot:
        """From before the moment up to now. The order matters, as at the end of any recording:
        what is open is read first, then what closed up to that moment."""
        tracer = self.tracer
        end_ns, opened = tracer.open_records()
        time.sleep(_WRITERS_S)
        chunk = self._read(end_ns)
        wanted_ns = moment.start_ns - self.plan.keep_ns if moment.kind not in (ASKED, LOOK) else 0
        cut = self._window.cut(wanted_ns)
        counters = tracer.counters.between(cut.totals, chunk.totals, cut.start_ns, end_ns)
        stacks, user_stacks = tracer.stacks_so_far()
        return Snapshot(
            layout=tracer.layout,
            names=tracer.names,
            metadata=self._metadata(moment, cut.start_ns, end_ns, limited=cut.limited),
            cpus=tracer.cpus,
            start_ns=cut.start_ns,
            end_ns=end_ns,
            pieces=cut.pieces,
            opened=opened,
            counters=counters,
            details=tracer.processes.details.to_file(),
            stacks=stacks,
            user_stacks=user_stacks,
        )

    def _metadata(
        self, moment: Moment, start_ns: int, end_ns: int, *, limited: bool
    ) -> dict[str, Any]:
        self._marks = [one for one in self._marks if one["time_ns"] >= self._window.start_ns]
        age = datetime.timedelta(microseconds=(time.monotonic_ns() - start_ns) // 1000)
        started = datetime.datetime.now(datetime.UTC) - age
        marks = [one for one in self._marks if start_ns <= one["time_ns"] <= end_ns]
        return {
            **self.metadata,
            "started": started.isoformat(timespec="milliseconds"),
            TRIGGER: moment.as_dict(),
            LIMITED: limited,
            MARKS: marks,
        }

    def _watch_open(self, now_ns: int) -> None:
        """One line for each thread that keeps a CPU from its victim for longer than the threshold
        and has not ended: it is no moment yet."""
        if not self.open_ns or now_ns < self._open_checked_ns + _OPEN_CHECK_NS:
            return
        self._open_checked_ns = now_ns
        _, opened = self.tracer.open_records()
        waits = self.tracer.layout.flags["WAIT"]
        for row in opened[(opened["gross_ns"] >= self.open_ns) & (opened["victim_tid"] != 0)]:
            key = int(row["cpu"]), int(row["start_ns"])
            if row["flags"] & waits == 0 and key not in self._open_told:
                self._open_told.add(key)
                gross = format_ns(int(row["gross_ns"]))
                self.notice(f"CPU {key[0]}: an interruption goes on for {gross}")
        still = {(int(row["cpu"]), int(row["start_ns"])) for row in opened}
        self._open_told &= still
