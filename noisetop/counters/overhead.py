"""Overhead: what noisetop itself used while it measured."""

from __future__ import annotations

import resource
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from noisetop.checked_json import finite, whole
from noisetop.counters.section import Brief, Reader, Section, TraceReadings
from noisetop.text.cpu_list import format_cpu_list
from noisetop.text.sanitize import printable
from noisetop.text.units import format_count, format_ns

_RUNS_OF_A_RECORD = 2
"""Of files that count runs of programs: an entry and an exit for each record."""


@dataclass(frozen=True, slots=True)
class Overhead:
    """What the tool itself used so far."""

    cpu_ns: int = 0
    """CPU time of all its threads."""
    wakeups: int = 0
    """Voluntary context switches of all its threads."""
    bpf_ns_per_record: float | None = None
    """What all BPF programs on all CPUs took for each record, by the kernel's statistics, sampled
    just before the window started. Runs that wrote no record are in it. None: not measured."""
    records: int = 0
    """Written so far."""
    housekeeping: str = ""
    """CPUs that its threads are bound to; empty: none was left, they run anywhere."""

    @property
    def bpf_ns(self) -> float | None:
        """Estimated run time of the BPF programs so far: as much for each record as sampled."""
        per_record = self.bpf_ns_per_record
        return None if per_record is None else per_record * self.records


class OverheadSection(Section[Overhead, Overhead]):
    """Used by this process, by getrusage(2), and by its BPF programs."""

    rank = 20
    head = "overhead"
    since_start = True

    def open(self, trace: TraceReadings) -> Reader[Overhead]:
        """Part of Section."""

        def read() -> Overhead:
            used, totals = resource.getrusage(resource.RUSAGE_SELF), trace.totals()
            return Overhead(
                cpu_ns=round((used.ru_utime + used.ru_stime) * 1e9),
                wakeups=used.ru_nvcsw,
                bpf_ns_per_record=trace.bpf_ns_per_record,
                records=max(totals["batched"], totals["spooled"]),
                housekeeping=format_cpu_list(trace.housekeeping_online()),
            )

        return Reader(read)

    def between(self, before: Overhead, after: Overhead, start_ns: int, end_ns: int) -> Overhead:
        """Records are counted since the start of the window already."""
        return Overhead(
            cpu_ns=after.cpu_ns - before.cpu_ns,
            wakeups=after.wakeups - before.wakeups,
            bpf_ns_per_record=after.bpf_ns_per_record,
            records=after.records,
            housekeeping=after.housekeeping,
        )

    def none(self) -> Overhead:
        """Not known."""
        return Overhead()

    def to_file(self, value: Overhead) -> dict[str, Any]:
        """Part of Section."""
        return {"own_cost": asdict(value)}

    def from_file(self, content: Mapping[str, Any]) -> Overhead:
        """Part of Section."""
        stored = content.get("own_cost", {})
        per_record = stored.get("bpf_ns_per_record")
        return Overhead(
            cpu_ns=whole(stored.get("cpu_ns", 0)),
            wakeups=whole(stored.get("wakeups", 0)),
            bpf_ns_per_record=None if per_record is None else finite(per_record),
            records=whole(stored.get("records", stored.get("bpf_runs", 0) // _RUNS_OF_A_RECORD)),
            housekeeping=str(stored.get("housekeeping", "")),
        )

    def as_dict(self, value: Overhead) -> dict[str, object]:
        """Part of Section."""
        return {"overhead": asdict(value)}

    def brief(self, value: Overhead, duration_ns: int) -> Brief:
        """CPU time, wake-ups, where, and the run time of the BPF programs."""
        if not (value.cpu_ns or value.records):
            return Brief("not known")
        share = 100 * value.cpu_ns / duration_ns if duration_ns else 0.0
        where = f"on CPU {printable(value.housekeeping)}" if value.housekeeping else "on any CPU"
        parts = [f"{format_ns(value.cpu_ns)} CPU time ({share:.2f} %), {value.wakeups} wake-ups"]
        parts.append(where)
        if value.bpf_ns is not None:
            each = f"{value.bpf_ns_per_record:.0f} ns for each of {format_count(value.records)}"
            parts.append(f"BPF on all CPUs about {format_ns(value.bpf_ns)} ({each} records)")
        return Brief(", ".join(parts))


OVERHEAD = SECTION = OverheadSection()
