"""Counters by key in bounded number: the largest have a series, the others are told as one.

A series only ever counts on. What a key takes while it has no series goes to ``other``, and is not
moved when it gets one; when it comes back, its series goes on from where it was. So no series
decreases, none is counted twice, and the increases of all series add up to all that was added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

Key = tuple[str, ...]
Amounts = tuple[int, ...]

MOST = 64
"""Keys that count by themselves at one time."""
_FORMERS = 64
"""Series that do not count any more and are listed all the same, so that no scrape misses their
last value."""
_HALF_LIFE_NS = 600_000_000_000
"""Ranks are those of lately: what began today is not behind all that was there for a year."""
_AHEAD = 2.0
"""A key takes the place of another one if it had so much more lately."""
_RANKED = 1024
"""Keys whose rank is remembered."""
_ADMITTED = 16384
"""Keys whose series is remembered; beyond that no new one gets any."""
_LARGEST_WEIGHT = 2.0**500


@dataclass(slots=True)
class BoundedSeries:
    """``width`` counters for each key; ``other`` says what a key without a series is told as."""

    width: int
    other: Callable[[Key], Key]
    most: int = MOST
    ranked: int = 0
    """Place of the counter that ranks."""
    _live: dict[Key, None] = field(default_factory=dict)
    _formers: dict[Key, None] = field(default_factory=dict)
    """Listed, those that left first come first."""
    _values: dict[Key, list[int]] = field(default_factory=dict)
    """Of every key that ever had a series."""
    _others: dict[Key, list[int]] = field(default_factory=dict)
    _unlisted: list[int] = field(init=False)
    _ranks: dict[Key, float] = field(default_factory=dict)
    _weight: float = 1.0
    """Of what is added now, in ranks; grows instead of having all ranks decay."""

    def __post_init__(self) -> None:
        self._unlisted = [0] * self.width

    def add(self, amounts: Mapping[Key, Amounts], duration_ns: int) -> None:
        """What a period of this length adds; no amount is negative."""
        named = {key: some for key, some in amounts.items() if self.other(key) != key}
        self._rank(named, duration_ns)
        self._admit(named)
        for key, some in amounts.items():
            if key in self._live:
                sums = self._values[key]
            else:
                sums = self._others.setdefault(self.other(key), [0] * self.width)
            for place, amount in enumerate(some):
                sums[place] += amount

    def rows(self) -> list[tuple[Key, Amounts]]:
        """The series that are listed, with the totals of each; last those of the others."""
        listed = [(key, tuple(self._values[key])) for key in (*self._live, *self._formers)]
        return [*listed, *[(key, tuple(sums)) for key, sums in self._others.items()]]

    @property
    def unlisted(self) -> Amounts:
        """Totals of series that are not listed any more: with all rows they are all that was
        added."""
        return tuple(self._unlisted)

    @property
    def dropped(self) -> int:
        """Keys of lately that are told as others, as far as they are remembered."""
        return sum(key not in self._live for key in self._ranks)

    def _rank(self, amounts: Mapping[Key, Amounts], duration_ns: int) -> None:
        self._weight *= 2.0 ** (duration_ns / _HALF_LIFE_NS)
        if self._weight > _LARGEST_WEIGHT:
            self._ranks = {key: rank / self._weight for key, rank in self._ranks.items()}
            self._weight = 1.0
        for key, some in amounts.items():
            self._ranks[key] = self._ranks.get(key, 0.0) + some[self.ranked] * self._weight
        if len(self._ranks) > 2 * _RANKED:
            largest = sorted(self._ranks, key=lambda key: (-self._ranks[key], key))[:_RANKED]
            kept = dict.fromkeys([*largest, *self._live])
            self._ranks = {key: self._ranks[key] for key in kept if key in self._ranks}

    def _admit(self, amounts: Iterable[Key]) -> None:
        """Gives series to keys of this period, the largest first."""
        smallest = sorted(self._live, key=lambda key: (-self._ranks.get(key, 0.0), key))
        least = self._least(smallest)
        ranks = self._ranks  # without those that are too small to be remembered
        some = [key for key in amounts if ranks.get(key, least) > least and key not in self._live]
        for key in sorted(some, key=lambda key: (-self._ranks[key], key)):
            if key not in self._values and len(self._values) >= _ADMITTED:
                continue
            if len(self._live) >= self.most:
                if self._ranks[key] <= self._least(smallest):
                    return
                self._leave(smallest.pop())
            self._enter(key)

    def _least(self, live: list[Key]) -> float:
        """What takes more than this gets a series; ``live``: those that have one, largest first."""
        if len(self._live) < self.most or not live:
            return -1.0 if len(self._live) < self.most else float("inf")
        return _AHEAD * self._ranks.get(live[-1], 0.0)

    def _enter(self, key: Key) -> None:
        values = self._values.setdefault(key, [0] * self.width)
        if key in self._formers:
            del self._formers[key]
        else:
            self._count_unlisted(values, -1)
        self._live[key] = None

    def _leave(self, key: Key) -> None:
        del self._live[key]
        self._formers[key] = None
        while len(self._formers) > _FORMERS:
            first = next(iter(self._formers))
            del self._formers[first]
            self._count_unlisted(self._values[first], 1)

    def _count_unlisted(self, values: Sequence[int], sign: int) -> None:
        for place, value in enumerate(values):
            self._unlisted[place] += sign * value
