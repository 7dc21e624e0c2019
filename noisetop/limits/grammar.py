"""What ``--fail-on`` takes: limits as ``noise>0.1%,single>50us,source:"ipi/*">0,lost>0``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from fractions import Fraction

from noisetop.errors import UsageError
from noisetop.text.sanitize import printable
from noisetop.text.units import NS_PER_UNIT

PERCENT, TIME, COUNT = "%", "ns", "count"
NOISE, COST, SINGLE, LOST, SOURCE = "noise", "cost", "single", "lost", "source"
_UNITS = {NOISE: (PERCENT,), COST: (PERCENT,), SINGLE: (TIME,), LOST: (COUNT,)}
_OF_SOURCE = (COUNT, PERCENT, TIME)
_EXAMPLES = {NOISE: "noise>0.1%", COST: "cost>0.2%", SINGLE: "single>50us", LOST: "lost>0"}
_SOURCE_EXAMPLE = 'source:"ipi/*">0'
_ALL = f"noise>0.1%,single>50us,{_SOURCE_EXAMPLE},lost>0"
_LIMIT = re.compile(r'\s*([A-Za-z]+)\s*(?::\s*"([^"]*)")?\s*>\s*([^\s>"]+)\s*')
_VALUE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)(%|[^\d.%]*)")
_HUNDRED = 100


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit: it is exceeded where the figure is above the bound."""

    text: str
    """As it was typed, without spaces around it."""
    name: str
    """NOISE, COST, SINGLE, LOST or SOURCE."""
    unit: str
    """PERCENT, TIME or COUNT: what the bound and the figure are in."""
    bound: int | float
    """In percent, ns, or a count."""
    glob: str = ""
    """Of SOURCE: the sources that it is about, by their path."""

    def matches(self, path: Sequence[str]) -> bool:
        """Whether the path of a source, joined by › or by /, is what the glob describes."""
        return path_matches(path, self.glob)


def path_matches(path: Sequence[str], glob: str) -> bool:
    """Whether the path of a source, joined by › or by /, is what the glob describes."""
    return any(fnmatchcase(mark.join(path), glob) for mark in (" › ", "/"))


def parse_limits(text: str) -> tuple[Limit, ...]:
    """The limits of a list with commas. Raises UsageError, which says what to type."""
    limits = tuple(_limit(one.strip()) for one in _split(text))
    if not all(one.text for one in limits):
        raise UsageError(f"--fail-on has an empty limit: write for example '{_ALL}'")
    return limits


def _split(text: str) -> Iterator[str]:
    """The parts between the commas that are not in quotes."""
    start, quoted = 0, False
    for at, one in enumerate(text):
        if one == '"':
            quoted = not quoted
        elif one == "," and not quoted:
            yield text[start:at]
            start = at + 1
    if quoted:
        raise UsageError(f"--fail-on has a quote without its end: write '{_SOURCE_EXAMPLE}'")
    yield text[start:]


def _limit(text: str) -> Limit:
    if not text:
        return Limit("", "", "", 0)
    shown = printable(text)
    match = _LIMIT.fullmatch(text)
    if not match:
        raise UsageError(f"'{shown}' is not a limit: write for example '{_ALL}'")
    name, glob, value = match[1], match[2], match[3]
    if name == SOURCE:
        if not glob:
            raise UsageError(f"'{shown}' names no source: write '{_SOURCE_EXAMPLE}'")
        unit, bound = _bound(value, _OF_SOURCE, shown, _SOURCE_EXAMPLE)
        return Limit(text, name, unit, bound, glob)
    if name not in _UNITS:
        known = ", ".join((*_UNITS, SOURCE))
        raise UsageError(f"there is no limit '{printable(name)}': known are {known}")
    if glob is not None:
        raise UsageError(f"'{shown}': only source takes a name: write '{_EXAMPLES[name]}'")
    return Limit(text, name, *_bound(value, _UNITS[name], shown, _EXAMPLES[name]))


def _bound(value: str, units: tuple[str, ...], shown: str, example: str) -> tuple[str, int | float]:
    """Unit and number of a value, in one of these units. Raises UsageError."""
    match = _VALUE.fullmatch(value)
    if not match:
        raise UsageError(f"'{shown}' has no number: write for example '{example}'")
    number, written = match[1], match[2]
    unit = {"": COUNT, "%": PERCENT}.get(written, TIME)
    if unit is TIME and written not in NS_PER_UNIT:
        raise UsageError(f"'{shown}' has an unknown unit: write for example '{example}'")
    if unit not in units:
        missing = "has no unit" if unit is COUNT else "has the wrong unit"
        raise UsageError(f"'{shown}' {missing}: write for example '{example}'")
    if unit is PERCENT:
        if float(number) >= _HUNDRED:
            raise UsageError(f"'{shown}' can never be exceeded: write less than 100%")
        return unit, float(number)
    exact = Fraction(number) * NS_PER_UNIT.get(written, 1)
    if unit is COUNT and exact.denominator != 1:
        raise UsageError(f"'{shown}' has no whole number: write for example '{example}'")
    # What is compared is a whole number: it is above the bound where it is above its whole part.
    return unit, exact.numerator // exact.denominator
