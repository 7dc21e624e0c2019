"""Calibration: what an interruption takes beyond its net time, by kind of entry, on this machine.

An event begins and ends inside of the kernel. The way there and back, into and out of a guest, and
the tracer's own programs around it are not in its net time. docs/cost.md has the formula.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from noisetop.counters.section import Reader, Section, TraceReadings

KINDS = (
    "irq",
    "timer",
    "reschedule",
    "call_function",
    "irq_work",
    "softirq",
    "switch",
    "fault",
    "nmi",
)
"""Kinds of entry: an interrupt of a device, of the local timer, the three of other CPUs, what a
softirq adds on the way out of an interrupt, away to another thread and back, a page fault, an
NMI."""
MEASURED, NOT_MEASURED = "measured", "not measured"


def taken_from(kind: str) -> str:
    """Source of an entry cost that could not be measured and is that of another kind."""
    return f"from {kind}"


_MOST_NS = 1_000_000_000
"""No file that we wrote has more."""


@dataclass(frozen=True, slots=True)
class EntryCost:
    """What one kind of entry costs beyond the net time of its events."""

    entry_ns: int
    """Mean, without the longest hundredth."""
    low_ns: int
    """10th percentile."""
    high_ns: int
    """90th percentile."""
    source: str
    """``measured``, or ``from <kind>``."""
    cold_more_ns: int = 0
    """What a cold entry takes more: noisetop.events.cold_entries."""
    cut: bool = False
    """Whether it was made smaller, as so many entries did not fit into the period."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Entry costs of one machine."""

    kinds: Mapping[str, EntryCost] = field(default_factory=dict)
    """By kind, of which some may be missing; empty: there is no calibration."""
    reason: str = ""
    """Why there is none, in words."""

    def entry(self, kind: str) -> EntryCost | None:
        """The entry cost of one kind of KINDS; None: not calibrated."""
        return self.kinds.get(kind)

    @property
    def most_ns(self) -> int:
        """The largest entry cost; 0: nothing is calibrated."""
        return max((one.entry_ns + one.cold_more_ns for one in self.kinds.values()), default=0)


NONE = Calibration(reason="nothing was calibrated")
BY_NET = Calibration(reason="--net ranks by net time, without an estimate")
"""In the place of what was calibrated: everything is ranked by its exact net time."""


class CalibrationSection(Section[Calibration, Calibration]):
    """Made or read before the window starts; it does not change."""

    rank = 70

    def open(self, trace: TraceReadings) -> Reader[Calibration]:
        """Part of Section."""

        def read() -> Calibration:
            found: Calibration = trace.calibration
            return found

        return Reader(read)

    def between(
        self, before: Calibration, after: Calibration, start_ns: int, end_ns: int
    ) -> Calibration:
        """Part of Section."""
        return after

    def none(self) -> Calibration:
        """Part of Section."""
        return NONE

    def part(self, value: Calibration, start_ns: int, end_ns: int) -> Calibration:
        """Part of Section."""
        return value

    def to_file(self, value: Calibration) -> dict[str, Any]:
        """Part of Section."""
        return {"calibration": {"kinds": costs_as_dict(value), "reason": value.reason}}

    def from_file(self, content: Mapping[str, Any]) -> Calibration:
        """Part of Section."""
        if "calibration" not in content:
            return NONE
        stored = content["calibration"]
        kinds = {kind: _entry_cost(stored["kinds"][kind]) for kind in stored["kinds"]}
        if not kinds.keys() <= set(KINDS):
            raise ValueError("an unknown kind of entry")
        return Calibration(kinds, str(stored["reason"]))

    def as_dict(self, value: Calibration) -> dict[str, object]:
        """Part of Section."""
        content: dict[str, object] = {"calibration": all_costs_as_dict(value)}
        if not value.kinds:
            content["calibration_missing"] = value.reason
        return content


_FIGURES = ("entry_ns", "cold_entry_ns", "spread_ns")


def costs_as_dict(calibration: Calibration) -> dict[str, dict[str, object]]:
    """By kind, ready for the json module; times in ns."""
    return {
        kind: {
            "entry_ns": cost.entry_ns,
            "cold_entry_ns": cost.entry_ns + cost.cold_more_ns,
            "spread_ns": [cost.low_ns, cost.high_ns],
            "source": cost.source,
        }
        for kind, cost in calibration.kinds.items()
    }


def all_costs_as_dict(calibration: Calibration) -> dict[str, dict[str, object]]:
    """The same with the kinds that were not measured; empty where nothing was."""
    missing: dict[str, object] = {**dict.fromkeys(_FIGURES), "source": NOT_MEASURED}
    known = costs_as_dict(calibration)
    return {kind: known.get(kind, missing) for kind in KINDS} if known else {}


def _entry_cost(stored: Mapping[str, Any]) -> EntryCost:
    entry_ns, (low_ns, high_ns) = stored["entry_ns"], stored["spread_ns"]
    # Files up to version 0.2 have one cost, whatever came before an entry.
    cold_ns = stored.get("cold_entry_ns", entry_ns)
    if not all(type(ns) is int for ns in (entry_ns, low_ns, high_ns, cold_ns)):
        raise TypeError("an entry cost that is no number of ns")
    if not 0 <= low_ns <= entry_ns <= high_ns <= _MOST_NS or not entry_ns <= cold_ns <= _MOST_NS:
        raise ValueError("an entry cost outside of its spread")
    if stored["source"] not in (MEASURED, *map(taken_from, KINDS)):
        raise ValueError("an entry cost from nowhere")
    return EntryCost(entry_ns, low_ns, high_ns, stored["source"], cold_ns - entry_ns)


CALIBRATION = SECTION = CalibrationSection()
