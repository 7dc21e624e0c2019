"""Two cohorts of hosts side by side, source by source, with hosts as units."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from noisetop.compare.comparison import MIN_BLOCKS_SEEN, TOTAL, Figure
from noisetop.compare.statistics import PERMUTATIONS, bootstrap_change, holm, permutation_p
from noisetop.errors import UsageError
from noisetop.fleet.rates import Rates, Table
from noisetop.fleet.runs import PROPERTIES, Run

FEWEST = 2
"""Hosts of a cohort: of one there is no spread."""


@dataclass(frozen=True, slots=True)
class Cohort:
    """Runs that are chosen by their properties and labels."""

    text: str
    patterns: tuple[tuple[str, str], ...]
    """Keys, and patterns with ``*``, ``?`` and ``[abc]`` that their values match."""

    def has(self, run: Run) -> bool:
        """Whether a run is in it."""
        return all(fnmatchcase(run.value(key), pattern) for key, pattern in self.patterns)


def parse_cohort(text: str) -> Cohort:
    """``kernel=6.1*,env=production``. Raises UsageError for anything else."""
    patterns = []
    for part in text.split(","):
        key, separator, pattern = part.partition("=")
        if not separator or not key.strip():
            raise UsageError(f"'{text}' is no cohort: write KEY=VALUE, as in kernel=6.1*")
        patterns.append((key.strip(), pattern.strip()))
    return Cohort(text, tuple(patterns))


def members(cohort: Cohort, runs: Sequence[Run]) -> list[Run]:
    """The runs of a cohort. Raises UsageError where there are none."""
    labels = {label for run in runs for label in run.label_values}
    for key, _ in cohort.patterns:
        if key not in PROPERTIES and key not in labels:
            known = ", ".join([*PROPERTIES, *sorted(labels)])
            raise UsageError(f"runs have no '{key}' for cohort {cohort.text}: they have {known}")
    found = [run for run in runs if cohort.has(run)]
    if not found:
        key = cohort.patterns[0][0]
        values = ", ".join(sorted({run.value(key) or "''" for run in runs})[:8])
        raise UsageError(f"no run is in cohort {cohort.text}: {key} is {values}")
    return found


@dataclass(frozen=True, slots=True)
class Change:
    """One source in both cohorts; times are ns per second and CPU, means over hosts."""

    source: str
    time: Figure
    hosts: tuple[int, int]
    """On how many it occurs."""
    tested: bool
    """False: on too few hosts to tell."""


@dataclass(frozen=True, slots=True)
class CohortComparison:
    """The answer."""

    hosts: tuple[int, int]
    alpha: float
    changes: tuple[Change, ...]
    """The total first, then the largest change of time first."""
    smallest_p: float
    """What a test can reach with so few hosts; above ``alpha`` nothing can be significant."""

    @property
    def changed(self) -> tuple[Change, ...]:
        """Those that are significant."""
        return tuple(one for one in self.changes if one.time.significant)


def compare_cohorts(
    rates: Rates[tuple[bool, str]], alpha: float, permutations: int | None = None
) -> CohortComparison:
    """Compares hosts of cohort B, whose unit is (True, host), with those of cohort A.

    Raises UsageError where one of them has fewer than two hosts.
    """
    is_b = np.array([in_b for in_b, _ in rates.units], bool)
    sizes = int((~is_b).sum()), int(is_b.sum())
    if min(sizes) < FEWEST:
        raise UsageError(
            f"cohorts of {sizes[0]} and {sizes[1]} hosts: each needs {FEWEST} or more, as hosts "
            "are what is compared"
        )
    labels = [TOTAL, *rates.sources]
    table = np.concatenate([rates.per_s.sum(axis=1, keepdims=True), rates.per_s], axis=1)
    a, b = table[~is_b], table[is_b]
    seen = np.stack([(a > 0).sum(axis=0), (b > 0).sum(axis=0)], 1)
    tested = seen.sum(axis=1) >= min(MIN_BLOCKS_SEEN, sum(sizes))
    p = np.ones(len(labels))
    tests = int(tested.sum())
    if tests:
        rounds = permutations or max(PERMUTATIONS, round(2 * tests / alpha))
        p[tested] = holm(permutation_p(a[:, tested], b[:, tested], rounds))
    changes = _changes(labels, a, b, p, alpha, tested.tolist(), seen.tolist())
    first, rest = changes[0], changes[1:]
    rest.sort(key=lambda one: (-abs(one.time.b - one.time.a), one.source))
    smallest = min(1.0, 2 * max(tests, 1) / math.comb(sum(sizes), sizes[0]))
    return CohortComparison(sizes, alpha, (first, *rest), smallest)


def _changes(
    labels: list[str],
    a: Table,
    b: Table,
    p: Table,
    alpha: float,
    tested: list[bool],
    seen: list[list[int]],
) -> list[Change]:
    low, high = bootstrap_change(a, b)
    means = a.mean(axis=0), b.mean(axis=0)
    columns = (x.tolist() for x in (*means, low, high, p, (p <= alpha) & (p < 1)))
    return [
        Change(label, Figure(*figures), (in_a, in_b), was)
        for label, figures, (in_a, in_b), was in zip(
            labels, zip(*columns, strict=True), seen, tested, strict=True
        )
    ]
