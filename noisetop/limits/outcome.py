"""What became of a limit: the figure, whether it is exceeded, by what, who and when."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

from noisetop.events.interruption import Source
from noisetop.limits.grammar import LOST, PERCENT, TIME, Limit
from noisetop.text.sanitize import printable
from noisetop.text.units import NS_PER_UNIT, format_ns

_NS_PER_S = 1_000_000_000
_TIME = re.compile(r"([0-9.]+) (\S+)")


@dataclass(frozen=True, slots=True)
class Culprit:
    """The source that has most of a figure, who is behind it, and its worst single moment."""

    path: tuple[str, ...]
    """Of the source; empty: not known."""
    who: str | None = None
    """In one line, harmless on a terminal; None: not known."""
    worst_ns: int = 0
    start_ns: int | None = None
    """When the worst one began, CLOCK_MONOTONIC; None: not known."""
    verb: str = "by"
    """How ``who`` relates to the source: a thread of the kernel is woken by somebody."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A limit and the figure that it is compared with."""

    limit: Limit
    value: int | float
    """In the unit of the limit: percent of the wall time of one CPU, ns, or a count."""
    cpu: int | None = None
    """The CPU that decides; None: all of them together."""
    culprit: Culprit | None = None
    """None: there was no noise, or the figure is about no source."""
    detail: str = ""
    """More about the figure in words, harmless on a terminal."""
    period_start_ns: int = field(default=0, repr=False)

    @property
    def exceeded(self) -> bool:
        """Whether the figure is above the bound."""
        return self.value > self.limit.bound

    @property
    def value_text(self) -> str:
        """The figure with its unit, short where that compares with the bound as the figure does."""
        if self.limit.unit == PERCENT:
            shown = f"{self.value:.4f}"
            if (float(shown) > self.limit.bound) != self.exceeded:
                shown = format(Decimal(repr(float(self.value))), "f")
            return f"{shown} %"
        if self.limit.unit == TIME:
            shown = format_ns(self.value)
            fits = (_time_ns(shown) > self.limit.bound) == self.exceeded
            return shown if fits else f"{self.value} ns"
        return str(self.value)

    @property
    def line(self) -> str:
        """The limit, the figure, what, who and when, harmless on a terminal."""
        state = "exceeded" if self.exceeded else "kept"
        return f"limit {printable(self.limit.text)} {state}: {self.figure}"

    @property
    def figure(self) -> str:
        """The figure, where, what, who and when, harmless on a terminal."""
        where = "" if self.cpu is None else f" on CPU {self.cpu}"
        parts = [f"{self.value_text}{where}", *self._blamed()]
        return ", ".join([*parts, self.detail] if self.detail else parts)

    def _blamed(self) -> Sequence[str]:
        one = self.culprit
        if one is None:
            return ()
        by = f" {one.verb} {one.who}" if one.who else ""
        found = [f"mostly {printable(Source(one.path).label)}{by}"] if one.path else []
        at = f"at {self._moment_s:.6f} s" if one.start_ns is not None else ""
        if not one.worst_ns:
            return found
        if one.worst_ns == self.value and self.limit.unit == TIME:
            return [*found, at] if at else found
        return [*found, f"worst single {format_ns(one.worst_ns)} {at}".rstrip()]

    @property
    def _moment_s(self) -> float:
        start_ns = self.culprit.start_ns if self.culprit else None
        return ((start_ns or 0) - self.period_start_ns) / _NS_PER_S

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        one = self.culprit
        return {
            "limit": self.limit.text,
            "value": self.value,
            "unit": self.limit.unit,
            "exceeded": self.exceeded,
            "cpu": self.cpu,
            "source": list(one.path) if one and one.path else None,
            "who": one.who if one else None,
            "start_ns": one.start_ns if one else None,
        }


def _time_ns(shown: str) -> Fraction:
    """Of what format_ns() made."""
    match = _TIME.fullmatch(shown)
    assert match is not None
    return Fraction(match[1]) * NS_PER_UNIT[match[2]]


def exceeded(outcomes: Sequence[Outcome]) -> tuple[Outcome, ...]:
    """Those above their bound."""
    return tuple(one for one in outcomes if one.exceeded)


def loss_warning(outcomes: Sequence[Outcome], lost: int, damage: str = "") -> str:
    """Which limits may be exceeded without being seen because records are missing, in one line,
    harmless on a terminal; empty: none.

    ``lost``: dropped records; ``damage``: what is wrong with the file, in words.
    """
    hidden = [one.limit.text for one in outcomes if one.limit.name != LOST and not one.exceeded]
    if not hidden or not (lost or damage):
        return ""
    why = f"{lost} records were lost" if lost else f"the file is damaged: {damage}"
    advice = "record again with a larger --ring-size" if lost else "record again"
    return printable(f"{', '.join(hidden)} may be exceeded unseen, as {why}; {advice}")
