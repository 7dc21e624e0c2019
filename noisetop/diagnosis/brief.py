"""The most expensive causes in a few lines, for views that show other things as well."""

from __future__ import annotations

from collections.abc import Iterator

from noisetop.diagnosis import Diagnosis
from noisetop.diagnosis.details import command, wrapped
from noisetop.diagnosis.finding import Finding
from noisetop.text.units import format_ns

_INDENT = 21
_NARROWEST = 40
_ARROW = "→ "


def brief_lines(diagnosis: Diagnosis, *, top: int, width: int) -> Iterator[str]:
    """Cost, share of all and cause of each, with its remedy below; nothing without any."""
    for finding in diagnosis.findings[:top]:
        yield from finding_lines(finding, diagnosis, width)
    if rest := diagnosis.findings[top:]:
        net = format_ns(sum(finding.net_ns for finding in rest))
        yield f"and {len(rest)} more with {net} in total"


def finding_lines(finding: Finding, diagnosis: Diagnosis, width: int) -> Iterator[str]:
    """The lines of one finding."""
    room = max(width, _NARROWEST) - _INDENT
    first, *more = wrapped(finding.cause, room)
    yield f"{rate_words(finding, diagnosis):>13} {share_words(finding, diagnosis):>5}  {first}"
    yield from (" " * _INDENT + line for line in more)
    first, *more = command(finding.remedy, room - len(_ARROW))
    yield " " * _INDENT + _ARROW + first
    yield from (" " * (_INDENT + len(_ARROW)) + line for line in more)


def rate_words(finding: Finding, diagnosis: Diagnosis) -> str:
    """What it takes of each second: ``≈12.3 µs/s``, exact without the sign."""
    rate = f"{format_ns(finding.cost_ns * 1e9 / diagnosis.evidence.duration_ns)}/s"
    return f"≈{rate}" if finding.estimated else rate


def share_words(finding: Finding, diagnosis: Diagnosis) -> str:
    """Of all that was lost, in percent; ``self``: it is self-inflicted."""
    if finding.is_own:
        return "self"
    return f"{100 * finding.cost_ns / diagnosis.lost_ns:.0f} %" if diagnosis.lost_ns else "0 %"
