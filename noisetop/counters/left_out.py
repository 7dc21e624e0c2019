"""What was not traced because the user asked for less, and what is unknown without it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from noisetop.counters.section import Brief, Reader, Section, TraceReadings
from noisetop.text.sanitize import printable

LOCAL = "local"
"""Nothing ran on unwatched CPUs only to explain: who acted is not known."""
CHEAP = "cheap"
"""Callbacks were not traced: interrupts and softirqs are told by vector and number."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Which options left something out, and what nobody can tell because of them."""

    options: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything was left out."""
        return bool(self.options)


NOTHING = LeftOut()


class LeftOutSection(Section[LeftOut, LeftOut]):
    """Known before the programs are attached."""

    rank = 32
    head = "left out"

    def open(self, trace: TraceReadings) -> Reader[LeftOut]:
        """Part of Section."""
        return Reader(lambda: trace.left_out)

    def between(self, before: LeftOut, after: LeftOut, start_ns: int, end_ns: int) -> LeftOut:
        """It does not change."""
        return after

    def none(self) -> LeftOut:
        """Everything was traced."""
        return NOTHING

    def part(self, value: LeftOut, start_ns: int, end_ns: int) -> LeftOut:
        """Part of Section."""
        return value

    def to_file(self, value: LeftOut) -> dict[str, Any]:
        """Part of Section."""
        if not value:
            return {}
        return {"left_out": {"options": list(value.options), "unknown": list(value.unknown)}}

    def from_file(self, content: Mapping[str, Any]) -> LeftOut:
        """Part of Section."""
        stored = dict(content.get("left_out") or {})
        options, unknown = stored.get("options", ()), stored.get("unknown", ())
        return LeftOut(tuple(map(str, options)), tuple(map(str, unknown)))

    def as_dict(self, value: LeftOut) -> dict[str, object]:
        """Part of Section."""
        return {"left_out": {"options": list(value.options), "unknown": list(value.unknown)}}

    def brief(self, value: LeftOut, duration_ns: int) -> Brief:
        """Part of Section."""
        if not value:
            return Brief("")
        options = " ".join(f"--{option}" for option in value.options)
        return Brief(printable(f"{options}: unknown are {', '.join(value.unknown)}"))


LEFT_OUT = SECTION = LeftOutSection()
