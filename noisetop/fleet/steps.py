"""How long a step of a bulk-synchronous program takes on one node: its work and what interrupts it.

A node is a recording, read in a circle. All of its ranks begin a step at the same moment, each does
the same work, and the slowest ends it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from noisetop.fleet.rank_timelines import Delays, Node, Numbers


@dataclass(frozen=True, slots=True)
class Circle:
    """A rank of a node whose recording is followed by itself, for as long as a step may take."""

    begin_ns: Numbers
    work_before_ns: Numbers
    """Work that is done before each delay, of a rank that always works."""
    lost_before_ns: Numbers
    """Sum of the delays before each; one more at the end: of all."""

    def delays(self, start_ns: Numbers, work_ns: int) -> Numbers:
        """By how much steps of that work that begin at these moments get longer. What has begun
        before counts with what is left of it."""
        begun = np.searchsorted(self.begin_ns, start_ns, "right")
        lost = self.lost_before_ns
        last = np.maximum(begun - 1, 0)
        if len(self.begin_ns):
            end = self.begin_ns[last] + lost[last + 1] - lost[last]
            left = np.where(begun > 0, np.maximum(end - start_ns, 0), 0)
        else:
            left = np.zeros_like(start_ns)
        done = start_ns - lost[begun] + left
        met = np.searchsorted(self.work_before_ns, done + work_ns, "left")
        found: Numbers = lost[np.maximum(met, begun)] - lost[begun] + left
        return found


def circle_of(rank: Delays, duration_ns: int, work_ns: int) -> Circle:
    """The circle of a rank, for steps of that work."""
    begin, length = rank.begin_ns % duration_ns, rank.length_ns
    share = int(length.sum())
    free = max(duration_ns - share, 1)
    # A step may begin inside of the longest delay, and then takes its work.
    turns = 2 + -(-(work_ns + int(length.max(initial=0))) // free)
    begins = (begin + duration_ns * np.arange(turns)[:, None]).reshape(-1)
    lengths = np.tile(length, turns)
    lost = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    # What is cut by the end of the recording reaches into its beginning.
    begins = np.maximum.accumulate(begins - lost[:-1]) + lost[:-1] if len(begins) else begins
    return Circle(begins, begins - lost[:-1], lost)


@dataclass(frozen=True, slots=True)
class NodeSteps:
    """Steps of a certain work on one node."""

    duration_ns: int
    circles: Sequence[Circle]
    work_ns: int

    def delays(self, start_ns: Numbers, ranks: int, first: Numbers) -> Numbers:
        """By how much the slowest of so many ranks is late, for steps that begin at these moments.
        ``first``: from which rank of the node on, for each step."""
        start_ns = start_ns % self.duration_ns
        if ranks >= len(self.circles):
            each = [one.delays(start_ns, self.work_ns) for one in self.circles]
            whole: Numbers = np.maximum.reduce(each)
            return whole
        found = np.zeros_like(start_ns)
        for number, circle in enumerate(self.circles):
            mine = (number - first) % len(self.circles) < ranks
            late = circle.delays(start_ns[mine], self.work_ns)
            found[mine] = np.maximum(found[mine], late)
        return found


def steps_of(node: Node, work_ns: int) -> NodeSteps:
    """Steps of that work on a node."""
    circles = [circle_of(rank, node.duration_ns, work_ns) for rank in node.ranks]
    return NodeSteps(node.duration_ns, circles, work_ns)
