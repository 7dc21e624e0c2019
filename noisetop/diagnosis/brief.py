"""The most expensive causes in a few lines, for views that show other things as well."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from noisetop.diagnosis import Diagnosis
from noisetop.text.sanitize import printable
from noisetop.text.units import format_ns

_INDENT = 21
_NARROWEST = 40


def brief_lines(diagnosis: Diagnosis, *, top: int, width: int) -> Iterator[str]:
    """Cost, share of all noise and cause of each, with its remedy below; nothing without any."""
    for finding in diagnosis.findings[:top]:
        rate = f"{format_ns(finding.cost_ns * 1e9 / diagnosis.evidence.duration_ns)}/s"
        whole = diagnosis.evidence.noise_ns
        share = f"{100 * finding.net_ns / whole:.0f} %" if finding.net_ns else "wait"
        first, *more = _wrapped(finding.cause, width)
        yield f"{rate:>13} {share:>5}  {first}"
        yield from (" " * _INDENT + line for line in more)
        for line in _wrapped(f"→ {finding.remedy}", width):
            yield " " * _INDENT + line
    if rest := diagnosis.findings[top:]:
        net = format_ns(sum(finding.net_ns for finding in rest))
        yield f"and {len(rest)} more with {net} in total"


def _wrapped(text: str, width: int) -> list[str]:
    room = max(width, _NARROWEST) - _INDENT
    return textwrap.wrap(printable(text), room, break_on_hyphens=False) or [""]
