"""Contiguous intervals of noise in records as they come: an upper bound for what is external."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from noisetop.events.interruption import SIDE_LEVEL, Flag
from noisetop.events.layout import Events, Layout
from noisetop.summary.max_single import GAP_NS, joined_intervals
from noisetop.tables.rows import joined, select

CLOSED_INTERVAL = np.dtype(
    [("cpu", "<u2"), ("start_ns", "<i8"), ("end_ns", "<i8"), ("noise_ns", "<i8"), ("count", "<u4")]
)
ClosedIntervals = npt.NDArray[np.void]
"""Structured array of CLOSED_INTERVAL; ``count``: of the interruptions that were looked at."""


def noise_of(events: Events, layout: Layout) -> npt.NDArray[np.bool_]:
    """Which records are noise of somebody, whoever caused it."""
    levels = events["level"] & np.uint8(0xFF ^ layout.entry_mark)
    noise = (events["flags"] & np.uint8(layout.no_interval) == 0) & (levels != SIDE_LEVEL)
    mine: npt.NDArray[np.bool_] = noise & (events["victim_tid"] != 0)
    return mine


@dataclass(slots=True)
class IntervalFinder:
    """Joins interruptions that come in any pieces."""

    layout: Layout
    nested: bool = False
    """Whether to look at those inside of others as well, which only their number tells."""
    _held: Events = field(init=False)
    """Of intervals that may go on."""

    def __post_init__(self) -> None:
        self._held = np.empty(0, self.layout.event)

    def add(self, pieces: Sequence[Events], until_ns: int) -> ClosedIntervals:
        """The intervals that are complete: all that ended up to ``until_ns`` has been added."""
        rows = joined([self._held, *(select(one, self._looked_at(one)) for one in pieces)])
        order = np.argsort(rows["cpu"], kind="stable")
        cpus = rows["cpu"].take(order)
        starts = rows["start_ns"].take(order).astype(np.int64)
        ends = starts + rows["gross_ns"].take(order).astype(np.int64)
        edges = np.flatnonzero(cpus[1:] != cpus[:-1]) + 1
        found = [
            _of_cpu(int(cpus[begin]), starts[begin:end], ends[begin:end])
            for begin, end in pairwise([0, *edges.tolist(), len(cpus)])
            if begin < end
        ]
        intervals = np.concatenate(found) if found else np.empty(0, CLOSED_INTERVAL)
        complete = intervals["end_ns"] + GAP_NS <= until_ns
        self._hold(rows, intervals[~complete])
        return intervals[complete]

    def _looked_at(self, events: Events) -> npt.NDArray[np.bool_]:
        noise = noise_of(events, self.layout)
        if not self.nested:
            noise &= Flag.OUTERMOST.among(events["flags"])
        return noise

    def _hold(self, rows: Events, going_on: ClosedIntervals) -> None:
        kept = np.zeros(len(rows), bool)
        for one in going_on:
            inside = (rows["cpu"] == one["cpu"]) & (rows["start_ns"] >= one["start_ns"])
            kept |= inside & (rows["start_ns"] <= one["end_ns"])
        self._held = select(rows, kept).copy()


def _of_cpu(
    cpu: int, starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
) -> ClosedIntervals:
    """Of the interruptions of one CPU, at least one."""
    if (starts[1:] < starts[:-1]).any():
        order = np.argsort(starts, kind="stable")
        starts, ends = starts[order], ends[order]
    first, last, noise = joined_intervals(starts, ends)
    found = np.empty(len(first), CLOSED_INTERVAL)
    found["cpu"], found["start_ns"], found["end_ns"] = cpu, first, last
    found["noise_ns"] = noise
    found["count"] = np.diff(np.append(np.searchsorted(starts, first), len(starts)))
    return found
