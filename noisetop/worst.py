"""The worst interruptions of a recording: its longest stretches of noise, and their parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from noisetop.event import INTERRUPTION, Interruptions, Source
from noisetop.recording import Recording
from noisetop.stretches import Stretch, WorstStretches
from noisetop.summary import Summarizer, Summary
from noisetop.trigger import Trigger

MAX_PARTS = 8


@dataclass(frozen=True, slots=True)
class Part:
    """One interruption inside a stretch."""

    source: Source
    start_ns: int
    net_ns: int
    depth: int
    """How many others it interrupted in turn."""
    trigger: Trigger
    """Who caused it; empty: not known."""


@dataclass(frozen=True, slots=True)
class WorstInterruption:
    """A stretch, its largest parts in the order in which they began, and how much is left out."""

    stretch: Stretch
    victim_tid: int
    parts: tuple[Part, ...]
    more_count: int
    more_ns: int


@dataclass(slots=True)
class _Collector:
    """The largest parts of one stretch."""

    stretch: Stretch
    count: int = 0
    net_ns: int = 0
    largest: Interruptions = field(default_factory=lambda: np.empty(0, INTERRUPTION))

    def add(self, chunk: Interruptions) -> None:
        """Takes from a table what belongs to it: noise inside its bounds, on its CPU."""
        start = chunk["start_ns"]
        inside = (start >= self.stretch.start_ns) & (chunk["cpu"] == self.stretch.cpu)
        inside &= (chunk["victim_tid"] != 0) & (start + chunk["gross_ns"] <= self.stretch.end_ns)
        mine = chunk[inside]
        self.count += len(mine)
        self.net_ns += int(mine["net_ns"].sum())
        both = np.concatenate([self.largest, mine])
        order = np.argsort(both["net_ns"], kind="stable")[::-1]
        self.largest = both[order[:MAX_PARTS]]

    def result(self, sources: Sequence[Source], triggers: Sequence[Trigger]) -> WorstInterruption:
        rows = self.largest[np.lexsort((self.largest["level"], self.largest["start_ns"]))]
        parts = tuple(
            Part(
                sources[row["source"]],
                int(row["start_ns"]),
                int(row["net_ns"]),
                _depth(rows, row),
                triggers[row["trigger"]],
            )
            for row in rows
        )
        return WorstInterruption(
            stretch=self.stretch,
            victim_tid=int(rows["victim_tid"][0]) if len(rows) else 0,
            parts=parts,
            more_count=self.count - len(parts),
            more_ns=self.net_ns - sum(part.net_ns for part in parts),
        )


def _depth(rows: Interruptions, row: np.void) -> int:
    ends = rows["start_ns"] + rows["gross_ns"]
    around = (rows["start_ns"] <= row["start_ns"]) & (ends >= row["start_ns"] + row["gross_ns"])
    return int((around & (rows["level"] < row["level"])).sum())


def summarize_with_worst(
    recording: Recording, keep: int
) -> tuple[Summary, tuple[WorstInterruption, ...]]:
    """The summary, and the longest stretches, longest first. Reads the recording twice."""
    summarizer = Summarizer(
        recording.cpus, recording.sources, recording.triggers, stretches=WorstStretches(keep)
    )
    for chunk in recording.chunks():
        summarizer.add(chunk)
    collectors = [_Collector(stretch) for stretch in summarizer.stretches.worst()]
    if collectors:
        _collect(recording, collectors)
    summary = recording.summary_of(summarizer)
    return summary, tuple(
        collector.result(recording.sources, recording.triggers) for collector in collectors
    )


def _collect(recording: Recording, collectors: Sequence[_Collector]) -> None:
    for chunk in recording.chunks():
        if not len(chunk):
            continue
        first, last = int(chunk["start_ns"].min()), int(chunk["start_ns"].max())
        for collector in collectors:
            if collector.stretch.start_ns <= last and collector.stretch.end_ns >= first:
                collector.add(chunk)
