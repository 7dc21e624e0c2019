"""Samples for a live view, from a running tracer."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from noisetop.hardware import Reading, difference, figures_of, missing_of
from noisetop.live import Sample
from noisetop.live_causes import LiveCauses
from noisetop.stopper import Stopper
from noisetop.summary import Summarizer, Summary
from noisetop.tick import TickStops, since
from noisetop.tracer import Tracer
from noisetop.waits import WaitBook


@dataclass(slots=True)
class TracerFeed:
    """A noisetop.live.Feed over a tracer whose books are open.

    Tables of interruptions go to the totals and to the interval alike, so both are exact.
    """

    tracer: Tracer
    stopper: Stopper
    interval_ns: int
    title: str = ""
    _total: Summarizer = field(init=False)
    _total_waits: WaitBook = field(default_factory=WaitBook)
    _total_start_ns: int = 0
    _stops_at_start: dict[int, TickStops] = field(default_factory=dict)
    _stops_at_last: dict[int, TickStops] = field(default_factory=dict)
    _last_ns: int = 0
    _total_hardware: Reading = field(init=False)
    _last_hardware: Reading = field(init=False)
    _causes: LiveCauses = field(init=False)
    _reset_wanted: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._total = self._summarizer()
        self._causes = LiveCauses(self.tracer.reader, self.tracer.target.cpus)
        self._total_start_ns = self._last_ns = self.tracer.start_ns
        self._total_hardware = self._last_hardware = self.tracer.hardware_start

    def _summarizer(self) -> Summarizer:
        reader = self.tracer.reader
        return Summarizer(self.tracer.target.cpus, reader.namer.sources, reader.join.triggers)

    def next(self) -> Sample:
        """Waits for the end of the interval that runs, then returns its sample."""
        ended = self.stopper.wait_until(self._last_ns + self.interval_ns)
        if ended:
            self.tracer.close_books()
        now_ns = self.tracer.end_ns if ended else time.monotonic_ns()
        table = self.tracer.read()
        hardware = self.tracer.read_hardware()
        waits, stops = self.tracer.reader.waits, self.tracer.tick_stops()
        if self._reset_wanted.is_set():
            self._restart()
        interval = self._summarizer()
        for summarizer in (self._total, interval):
            summarizer.add(table)
        self._total_waits.merge(waits)
        start_ns, self._last_ns = self._last_ns, now_ns
        total_stops = since(self._stops_at_start, stops)
        stops, self._stops_at_last = since(self._stops_at_last, stops), stops
        self._causes.add(table, waits, start_ns, now_ns)
        sample = Sample(
            total=self._summary(
                self._total,
                self._total_waits,
                (self._total_start_ns, now_ns),
                difference(self._total_hardware, hardware),
                total_stops,
            ),
            interval=self._summary(
                interval,
                waits,
                (start_ns, now_ns),
                difference(self._last_hardware, hardware),
                stops,
            ),
            diagnosis=self._causes.latest,
            ended=(self.stopper.reason or "the time is up") if ended else "",
        )
        waits.clear()
        self._last_hardware = hardware
        return sample

    def _restart(self) -> None:
        """The total begins where the last interval ended."""
        self._reset_wanted.clear()
        self._total = self._summarizer()
        self._total_waits.clear()
        self._causes.restart()
        self._total_start_ns = self._last_ns
        self._total_hardware = self._last_hardware
        self._stops_at_start = self._stops_at_last

    def _summary(
        self,
        summarizer: Summarizer,
        waits: WaitBook,
        period_ns: tuple[int, int],
        hardware: Reading,
        tick_stops: dict[int, TickStops],
    ) -> Summary:
        return summarizer.summary(
            *period_ns,
            losses=self.tracer.losses(),
            own_cost=self.tracer.own_cost(),
            missing=self.tracer.missing(),
            tasks=self.tracer.reader.tasks,
            waits=waits.by_task(),
            absences=self.tracer.absences(*period_ns),
            hardware=figures_of(hardware),
            missing_hardware=missing_of(hardware),
            tick_stops=tick_stops,
        )

    def reset(self) -> None:
        """Starts the totals anew with the interval that runs."""
        self._reset_wanted.set()

    def diagnose(self, *, wanted: bool) -> None:
        """Has samples carry a diagnosis, or no longer."""
        self._causes.want(wanted=wanted)

    def wake(self) -> None:
        """Ends the wait of next() early."""
        self.stopper.wake()
