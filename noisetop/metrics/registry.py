"""What a scrape reads: the latest snapshot of the totals, whoever asks and however often."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from noisetop.metrics.families import families
from noisetop.metrics.totals import Snapshot


@dataclass(slots=True, eq=False)
class SnapshotCollector(Collector):
    """Replaced as a whole by the thread that traces, so that a scrape waits for nothing."""

    snapshot: Snapshot | None = None
    """None: nothing was traced yet."""

    def collect(self) -> Iterator[Metric]:
        """Part of Collector."""
        if self.snapshot is not None:
            yield from families(self.snapshot)

    def describe(self) -> Iterable[Metric]:
        """Part of Collector: nothing is asked for beforehand."""
        return ()


@dataclass(slots=True)
class Published:
    """A registry with that collector alone."""

    collector: SnapshotCollector = field(default_factory=SnapshotCollector)
    registry: CollectorRegistry = field(
        default_factory=lambda: CollectorRegistry(auto_describe=False)
    )
    version: int = 0
    """Goes up with each snapshot."""

    def __post_init__(self) -> None:
        self.registry.register(self.collector)

    def publish(self, snapshot: Snapshot) -> None:
        """What scrapes read from now on."""
        self.collector.snapshot = snapshot
        # Who asks in between makes the new text once more, and never keeps the old one as the new.
        self.version += 1
