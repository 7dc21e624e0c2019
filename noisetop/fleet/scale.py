"""What recorded noise costs a program whose steps end when the slowest of many ranks ends.

A population of nodes goes through steps, each node with a program of its own around it. A step ends
with the slowest of all ranks: of the node itself, or of the others, whose delay is drawn from what
the population has seen. docs/guide/scale.md has the method.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from noisetop.fleet.rank_timelines import Node, Numbers, lost_ns
from noisetop.fleet.steps import NodeSteps, steps_of

Vector = npt.NDArray[np.float64]
STEPS = 200_000
_NODES = 2_000
"""Of the population."""
_SETTLING = 10
"""Steps in which the population forgets that it began anywhere."""
_MOST_STEPS = 2_000_000
_STEPS_PER_NODE = 10
"""Steps seen for each node of the program, so that the slowest of all is among them."""
_LATE_PER_NODE = 4
_MOST_CLASSES = 16
"""Of steps by the length of the one before, each with so many delays for each node."""
_RESAMPLES = 100
_BLOCKS = 40
"""Parts of a recording that are drawn anew for an interval."""
_GROUPS = 1_000
_SEED = 20_240_601
"""Fixed, so that the same recordings give the same answer every time."""


@dataclass(frozen=True, slots=True)
class Program:
    """What is to be run."""

    ranks: int
    work_ns: int
    """Of each rank in a step."""
    aligned: bool = False
    """Whether all nodes are at the same place of their recordings: synchronised noise."""
    steps: int = STEPS


@dataclass(frozen=True, slots=True)
class Cost:
    """What a step takes beyond its work, for a number of ranks."""

    ranks: int
    mean_ns: float
    low_ns: float
    """Interval of the mean that holds the true one with 95 %, as far as the recording tells."""
    high_ns: float
    p50_ns: int
    p99_ns: int

    def share(self, work_ns: int) -> float:
        """Of the work: 0.1 means that a step takes 10 % longer."""
        return self.mean_ns / work_ns


@dataclass(frozen=True, slots=True)
class SourceCost:
    """One source alone, and all others without it."""

    source: str
    one_rank: Cost
    all_ranks: Cost
    without: Cost
    """At all ranks."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The answer."""

    program: Program
    ranks_per_node: int
    curve: tuple[Cost, ...]
    sources: tuple[SourceCost, ...]
    """Largest gain without it first."""


def scale_of(nodes: Sequence[Node], program: Program, sources: int) -> Scale:
    """The cost over numbers of ranks, and that of the sources which take most time."""
    curve = tuple(cost(nodes, program, ranks) for ranks in rank_numbers(program.ranks))
    taken = lost_ns(nodes)
    largest = sorted((one for one in taken if taken[one]), key=lambda one: -taken[one])[:sources]
    costs = [_source_cost(nodes, program, source) for source in largest]
    costs.sort(key=lambda one: (one.without.mean_ns, one.source))
    return Scale(program, len(nodes[0].ranks), curve, tuple(costs))


def rank_numbers(ranks: int) -> list[int]:
    """1, 2, 5, 10, 20, … and the last."""
    steps = [digit * 10**power for power in range(len(str(ranks))) for digit in (1, 2, 5)]
    return [*(one for one in steps if one < ranks), ranks]


def _source_cost(nodes: Sequence[Node], program: Program, source: str) -> SourceCost:
    alone = [node.only(np.array([one == source for one in node.sources])) for node in nodes]
    rest = [node.only(np.array([one != source for one in node.sources])) for node in nodes]
    return SourceCost(
        source,
        cost(alone, program, 1),
        cost(alone, program, program.ranks),
        cost(rest, program, program.ranks),
    )


def cost(nodes: Sequence[Node], program: Program, ranks: int) -> Cost:
    """What a step of so many ranks takes beyond its work."""
    steps = [steps_of(node, program.work_ns) for node in nodes]
    if not any(len(rank.begin_ns) for node in nodes for rank in node.ranks):
        return Cost(ranks, 0.0, 0.0, 0.0, 0, 0)
    seen = _Seen(steps, program, ranks)
    seen.run()
    return seen.cost()


class _Seen:
    """A population of nodes, and the delays that were seen on them."""

    def __init__(self, steps: Sequence[NodeSteps], program: Program, ranks: int) -> None:
        self._steps, self._program, self._ranks = steps, program, ranks
        per_node = min(len(one.circles) for one in steps)
        # Of nodes that are aligned each is as late as any other.
        self._nodes = 1.0 if program.aligned else max(ranks / per_node, 1.0)
        self._rng = np.random.default_rng(_SEED)
        wanted = max(program.steps, int(_STEPS_PER_NODE * self._nodes))
        self._rounds = -(-min(wanted, _MOST_STEPS) // _NODES)
        # Evenly over recordings, their ranks and their time, which leaves less to chance.
        number = np.arange(_NODES)
        self._which = number % len(steps)
        self._first = number // len(steps) % per_node
        place = number // (len(steps) * per_node)
        spread = (place + self._rng.random(_NODES)) / (place[-1] + 1)
        lengths = np.array([one.duration_ns for one in steps])
        length = np.full(_NODES, lengths.min()) if program.aligned else lengths[self._which]
        self._at: Numbers = (spread * length).astype(np.int64)
        self._waited = np.zeros(_NODES, np.int64)
        self._late: list[Numbers] = []
        self._slowest: list[Numbers] = []
        self._places: list[Numbers] = []

    def run(self) -> None:
        """Goes through the steps."""
        late = self._delays()
        others = _Others(self._waited, late, self._nodes)
        waited: list[Numbers] = []
        for number in range(_SETTLING + self._rounds):
            if number % _SETTLING == 0 and waited and self._nodes > 1:
                others = _Others(np.concatenate(waited), np.concatenate(self._late), self._nodes)
            if number == _SETTLING:
                waited, self._late, self._slowest, self._places = [], [], [], []
            late = self._delays()
            slowest = late
            if self._nodes > 1:
                slowest = np.maximum(late, others.slowest(self._waited, self._rng))
            waited.append(self._waited)
            self._late.append(late)
            self._slowest.append(slowest)
            self._places.append(self._at.copy())
            self._at = self._at + self._program.work_ns + slowest
            self._waited = slowest

    def _delays(self) -> Numbers:
        """Of the slowest rank of each node; of all recordings where they are aligned."""
        if self._program.aligned:
            each = [one.delays(self._at, self._ranks, self._first) for one in self._steps]
            slowest: Numbers = np.maximum.reduce(each)
            return slowest
        found = np.zeros_like(self._at)
        for number, one in enumerate(self._steps):
            mine = self._which == number
            found[mine] = one.delays(self._at[mine], self._ranks, self._first[mine])
        return found

    def cost(self) -> Cost:
        """From what was seen."""
        late = np.concatenate(self._late)
        order = np.argsort(late, kind="stable")
        values = late[order].astype(np.float64)
        blocks = np.concatenate([self._blocks(places) for places in self._places])[order]
        low, high = self._interval(values, blocks)
        slowest = np.concatenate(self._slowest)
        mean = float(slowest.mean())
        p50, p99 = np.quantile(slowest, [0.5, 0.99], method="inverted_cdf").tolist()
        return Cost(self._ranks, mean, mean * low, mean * high, p50, p99)

    def _blocks(self, places: Numbers) -> Numbers:
        """In which part of which recording each place is."""
        lengths = np.array([one.duration_ns for one in self._steps])[self._which]
        inside = places % lengths * _BLOCKS // lengths
        found: Numbers = inside if self._program.aligned else self._which * _BLOCKS + inside
        return found

    def _interval(self, values: Vector, blocks: Numbers) -> tuple[float, float]:
        """Ends of the percentile interval of the mean over resampled parts of the recordings, in
        units of the mean; of nodes that know nothing of each other."""
        kinds, blocks = np.unique(blocks, return_inverse=True)
        group = _groups(len(values))
        sizes = np.bincount(group)
        middles = np.bincount(group, values) / sizes
        key = blocks.reshape(-1) * len(sizes) + group
        counts = np.bincount(key, minlength=len(kinds) * len(sizes)).reshape(len(kinds), -1)
        chance = np.full(len(kinds), 1 / len(kinds))
        drawn = np.random.default_rng(_SEED).multinomial(len(kinds), chance, _RESAMPLES)
        shares = np.cumsum(drawn.astype(np.float64) @ counts, axis=1)
        shares /= shares[:, -1:]
        means = [_mean_of_slowest(middles, row, self._nodes) for row in shares]
        low, high = np.percentile(means, [2.5, 97.5])
        every = counts.sum(axis=0).cumsum()
        mean = _mean_of_slowest(middles, every / every[-1], self._nodes)
        return (min(float(low) / mean, 1.0), max(float(high) / mean, 1.0)) if mean else (1.0, 1.0)


class _Others:
    """How late the others are, given how long the step before was: who waited for long in it may be
    interrupted while waiting, and begin late. All nodes waited for the same one."""

    def __init__(self, waited: Numbers, late: Numbers, nodes: float) -> None:
        self._exponent = 1 / max(nodes - 1, 1e-9)
        classes = int(min(max(len(late) / (_LATE_PER_NODE * nodes), 1), _MOST_CLASSES))
        self._edges = np.unique(np.quantile(waited, np.arange(1, classes) / classes))
        which = np.searchsorted(self._edges, waited, "right")
        self._late = [np.sort(late[which == one]) for one in range(len(self._edges) + 1)]
        for one, found in enumerate(self._late):
            if not len(found):  # no step has been that long yet
                self._late[one] = np.sort(late)

    def slowest(self, waited: Numbers, rng: np.random.Generator) -> Numbers:
        """The slowest of all others, for each node by the inverse of its distribution."""
        which = np.searchsorted(self._edges, waited, "right")
        drawn = rng.random(len(waited)) ** self._exponent
        found = np.zeros_like(waited)
        for one, late in enumerate(self._late):
            mine = which == one
            found[mine] = late[(drawn[mine] * len(late)).astype(np.int64)]
        return found


def _groups(size: int) -> Numbers:
    """Groups of neighbours for the intervals: the largest values each on its own, as they decide
    what many ranks wait for."""
    single = min(size, _GROUPS)
    rest = size - single
    found: Numbers = np.concatenate(
        [
            np.arange(rest) * _GROUPS // max(rest, 1),
            (_GROUPS if rest else 0) + np.arange(single),
        ]
    )
    return np.unique(found, return_inverse=True)[1].reshape(-1)


def _mean_of_slowest(values: Vector, shares: Vector, nodes: float) -> float:
    """Mean of the largest of so many values that are drawn independently. ``shares``: of the values
    that are at most as large as each, which are sorted."""
    at_most = shares**nodes
    return float(values @ np.diff(at_most, prepend=0.0))
