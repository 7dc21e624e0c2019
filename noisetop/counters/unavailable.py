"""Sources that cannot be traced on this kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from noisetop.counters.section import Brief, Reader, Section, TraceReadings
from noisetop.text.sanitize import printable

Names = tuple[str, ...]
"""Tracepoints without what tells the two of a pair apart, some with a reason."""


class UnavailableSection(Section[Names, Names]):
    """Known once the programs are attached."""

    rank = 30
    head = "unavailable"

    def open(self, trace: TraceReadings) -> Reader[Names]:
        """Part of Section."""
        return Reader(trace.unavailable)

    def between(self, before: Names, after: Names, start_ns: int, end_ns: int) -> Names:
        """It does not change."""
        return after

    def none(self) -> Names:
        """Everything can be traced."""
        return ()

    def part(self, value: tuple[str, ...], start_ns: int, end_ns: int) -> tuple[str, ...]:
        """Part of Section."""
        return value

    def to_file(self, value: Names) -> dict[str, Any]:
        """Part of Section."""
        return {"missing_sources": list(value)}

    def from_file(self, content: Mapping[str, Any]) -> Names:
        """Part of Section. The head of a recording that was cut short says ``missing``."""
        return tuple(map(str, content.get("missing_sources", content.get("missing", ()))))

    def as_dict(self, value: Names) -> dict[str, object]:
        """Part of Section."""
        return {"unavailable_sources": list(value)}

    def brief(self, value: Names, duration_ns: int) -> Brief:
        """Part of Section."""
        return Brief(f"{printable(', '.join(value))}" if value else "")


UNAVAILABLE = SECTION = UnavailableSection()
