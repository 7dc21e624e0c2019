"""Feeds the totals from a running trace, and publishes them after each period."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from noisetop.events.interruption import Interruptions
from noisetop.live.feed import TracerFeed
from noisetop.live.sample import Sample
from noisetop.metrics.stolen import StolenTime
from noisetop.metrics.totals import MetricTotals, Snapshot
from noisetop.text.cpu_list import format_cpu_list
from noisetop.text.sanitize import printable
from noisetop.tracing.stopper import Stopper
from noisetop.tracing.tracer import Tracer
from noisetop.version import version

INTERVAL_NS = 1_000_000_000
"""Of the periods: a scrape finds totals that are no older."""


def about_run(title: str, cpus: tuple[int, ...]) -> dict[str, str]:
    """Labels of what does not change. Read it before privileges are dropped: the folder of the
    program may be one that takes them."""
    return {
        "version": version(),
        "kernel": os.uname().release,
        "target": printable(title),
        "cpus": format_cpu_list(cpus),
    }


@dataclass(slots=True)
class Exported:
    """The totals of one trace."""

    tracer: Tracer
    stopper: Stopper
    title: str
    per_cpu: bool = False
    checks: Mapping[str, str] = field(default_factory=dict)
    info: Mapping[str, str] = field(default_factory=dict)
    feed: TracerFeed = field(init=False)
    totals: MetricTotals = field(init=False)
    _about: StolenTime = field(init=False)

    def __post_init__(self) -> None:
        cpus = self.tracer.target.cpus
        self.totals = MetricTotals(cpus, self.per_cpu, self.info, self.checks)
        self.feed = TracerFeed(
            self.tracer, self.stopper, INTERVAL_NS, self.title, on_tables=self._add_tables
        )

    def _add_tables(self, ended: Interruptions, part: Interruptions) -> None:
        reader = self.tracer.reader
        sources = reader.namer.sources
        self._about = StolenTime(sources, reader.join.triggers, self.tracer.directory)
        self.totals.add_tables(ended, part, self._about, sources)

    def next(self) -> Sample:
        """Waits for the end of the period that runs, and adds it. Errors of the feed pass
        through."""
        sample = self.feed.next()
        self.totals.add(sample.interval, self._about)
        return sample

    def run(self, publish: Callable[[Snapshot, Sample], object]) -> None:
        """Until the trace ends; calls ``publish`` after each period."""
        ended = False
        while not ended:
            sample = self.next()
            publish(self.totals.snapshot(), sample)
            ended = bool(sample.ended)
