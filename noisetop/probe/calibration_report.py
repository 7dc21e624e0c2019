"""The result of ``noisetop probe calibrate`` as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from noisetop.counters.calibration import (
    KINDS,
    NOT_MEASURED,
    Calibration,
    all_costs_as_dict,
)
from noisetop.probe.entry_costs import Entry
from noisetop.text.cpu_list import format_cpu_list
from noisetop.text.layout import table_lines
from noisetop.text.units import format_count, format_ns

_TITLES = ("kind", "mean", "10 %", "90 %", "cold", "samples", "source")


@dataclass(frozen=True, slots=True)
class CalibrationReport:
    """Entry costs of some CPUs, and what they hold for."""

    cpus: tuple[int, ...]
    duration_ns: int
    """Of each CPU."""
    facts: Mapping[str, str]
    entries: Mapping[str, Entry]

    @property
    def calibration(self) -> Calibration:
        """The same as a side figure of a run."""
        return Calibration({kind: entry.cost for kind, entry in self.entries.items()})

    def as_dict(self) -> dict[str, object]:
        """Ready for the json module."""
        return {
            "cpus": format_cpu_list(self.cpus),
            "duration_ns": self.duration_ns,
            "machine": dict(self.facts),
            "calibration": {
                kind: {**cost, "samples": self.entries[kind].samples if kind in self.entries else 0}
                for kind, cost in all_costs_as_dict(self.calibration).items()
            },
        }

    def lines(self) -> Iterator[str]:
        """A table."""
        noun = "CPU" if len(self.cpus) == 1 else "CPUs"
        yield f"Entry costs on {noun} {format_cpu_list(self.cpus)}, beyond the net time of events"
        yield ""
        rows = [_TITLES, *(_row(kind, self.entries.get(kind)) for kind in KINDS)]
        yield from table_lines(rows, left={0, 6})


def _row(kind: str, entry: Entry | None) -> tuple[str, ...]:
    if entry is None:
        return (kind, *["-"] * 4, "0", NOT_MEASURED)
    cost = entry.cost
    cold_ns = cost.entry_ns + cost.cold_more_ns
    times = (format_ns(ns) for ns in (cost.entry_ns, cost.low_ns, cost.high_ns, cold_ns))
    return (kind, *times, format_count(entry.samples), cost.source)
