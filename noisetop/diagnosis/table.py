"""The findings of a diagnosis, one row each: what it costs, its share, its cause and who."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from noisetop.diagnosis import Diagnosis
from noisetop.diagnosis.details import share, wrapped
from noisetop.diagnosis.finding import Finding
from noisetop.events.origin import Origin
from noisetop.text.styled import heading
from noisetop.text.units import format_ns

_HEAD = " #    Cost/s     Net/s   Share  "
_WHO = 0.36
"""Of the room that the figures leave."""
_NAMED = 2
_MOST_LINES = 3


def table(diagnosis: Diagnosis, top: int, width: int) -> Iterator[str]:
    """The first ``top`` findings; those that are self-inflicted below the others."""
    room = width - len(_HEAD)
    who = int(room * _WHO)
    cause = room - who - 2
    findings = diagnosis.findings[:top]
    yield heading(f"{_HEAD}{'Cause':<{cause}}  Who")
    for number, finding in enumerate(findings, 1):
        if finding.is_own and not (number > 1 and findings[number - 2].is_own):
            yield heading("    Self-inflicted: what the program causes itself")
        yield from _row(number, finding, diagnosis, cause, who)
    if reason := diagnosis.evidence.uncalibrated:
        yield from wrapped(f"No estimate of the cost: {reason}", width)


def _row(
    number: int, finding: Finding, diagnosis: Diagnosis, cause: int, who: int
) -> Iterator[str]:
    seconds = diagnosis.evidence.duration_ns / 1e9
    cost = format_ns(finding.cost_ns / seconds)
    if finding.shares:
        cost = f"≈{cost}" if finding.estimated else "-"
    net = format_ns(finding.net_ns / seconds) if finding.shares else "-"
    part = share(finding.cost_ns, diagnosis) if finding.counted_ns else "-"
    figures = f"{number:>2} {cost:>9} {net:>9} {part:>7}  "
    words = _shortened(wrapped(finding.cause, cause), cause)
    names = _shortened(wrapped(", ".join(_who(finding)), who), who)
    for first, second in zip_longest(words, names, fillvalue=""):
        yield f"{figures}{first:<{cause}}  {second}".rstrip()
        figures = " " * len(_HEAD)


def _shortened(lines: Sequence[str], width: int) -> Sequence[str]:
    if len(lines) <= _MOST_LINES:
        return lines
    last = lines[_MOST_LINES - 1]
    return [*lines[: _MOST_LINES - 1], f"{last[: width - 1].rstrip(' ,')}…"]


def _who(finding: Finding) -> list[str]:
    """Programs and tasks that caused it, largest first; where none is known, its origin."""
    names = [culprit.label for culprit in finding.culprits]
    more = [f"{len(names) - _NAMED} more"] if len(names) > _NAMED else []
    origins = [one.label for one in finding.origins if one is not Origin.UNATTRIBUTED]
    return names[:_NAMED] + more or origins or ["-"]
