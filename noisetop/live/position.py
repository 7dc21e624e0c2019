"""Which periods of a recording are shown, and how it goes on from there."""

from __future__ import annotations

from dataclasses import dataclass, replace

SPEEDS = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 100.0)
"""Recorded seconds for each second of playing."""


@dataclass(frozen=True, slots=True)
class Position:
    """Periods ``first`` up to ``until``, without that one, of ``count``; at least one."""

    count: int
    first: int
    until: int
    since_start: bool = False
    """Steps keep the first period in view: figures since the start."""
    playing: bool = False
    speed: float = 1.0
    mark: int | None = None
    """The first period of a range whose end is to be chosen."""
    moment: int | None = None
    """Rank of the worst moment that was gone to."""

    @classmethod
    def whole(cls, count: int) -> Position:
        """All periods."""
        return cls(count, 0, count)

    @property
    def current(self) -> int:
        """The last period shown."""
        return self.until - 1

    @property
    def is_whole(self) -> bool:
        """Whether all periods are shown."""
        return (self.first, self.until) == (0, self.count)

    @property
    def is_range(self) -> bool:
        """Whether it was chosen by its two ends: neither one period nor since the start."""
        return self.until - self.first > 1 and not self.since_start

    @property
    def at_end(self) -> bool:
        """Whether no period comes after these."""
        return self.until >= self.count

    def at(self, number: int) -> Position:
        """One period, or all up to it."""
        number = max(0, min(number, self.count - 1))
        first = 0 if self.since_start else number
        return replace(self, first=first, until=number + 1, moment=None)

    def at_moment(self, moment: int, first: int, last: int) -> Position:
        """The periods that a worst moment lies in."""
        begin = replace(self, since_start=False, playing=False).at(first)
        return replace(begin, until=last + 1, moment=moment)

    def stepped(self, by: int) -> Position:
        """So many periods further or back. From a range it is a step out of it; from the whole
        recording the first or the last period."""
        if self.is_range and self.is_whole:
            return self.at(0 if by > 0 else self.count - 1)
        return self.at((self.first if self.is_range and by < 0 else self.current) + by)

    def toggled(self) -> Position:
        """Since the start in place of one period, or the reverse."""
        return replace(self, since_start=not self.since_start).at(self.current)

    def all(self) -> Position:
        """The whole recording."""
        return replace(self.whole(self.count), speed=self.speed)

    def marked(self) -> Position:
        """A range begins with the current period."""
        return replace(self, mark=self.first if self.is_range else self.current)

    def ranged(self) -> Position:
        """From the mark to the current period, in either order; without a mark from the first."""
        one, other = self.mark or 0, self.current
        return replace(
            self,
            first=min(one, other),
            until=max(one, other) + 1,
            since_start=False,
            playing=False,
            mark=None,
            moment=None,
        )

    def played(self) -> Position:
        """Plays or pauses; from the end or the whole recording it plays from the start."""
        if self.playing:
            return replace(self, playing=False)
        begin = self.at(0) if self.at_end else self
        if self.is_range and not self.at_end:
            begin = self.at(self.first)
        return replace(begin, playing=True)

    def faster(self, by: int) -> Position:
        """At one of the next speeds."""
        at = SPEEDS.index(self.speed) + by
        return replace(self, speed=SPEEDS[max(0, min(at, len(SPEEDS) - 1))])
