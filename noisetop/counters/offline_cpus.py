"""CPUs that were offline for a part of a period: nothing is known of them then."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from noisetop.checked_json import whole
from noisetop.counters.section import Brief, Reader, Section, TraceReadings
from noisetop.text.cpu_list import format_cpu_list

_NS_PER_S = 1_000_000_000


@dataclass(frozen=True, slots=True)
class OfflineInterval:
    """A CPU was offline. Moments are CLOCK_MONOTONIC, as the kernel reports them just after."""

    cpu: int
    from_ns: int | None
    """None: before the window started."""
    until_ns: int | None
    """None: it still is."""
    watched: bool = True


Intervals = tuple[OfflineInterval, ...]


@dataclass(slots=True)
class OfflineLog:
    """Makes intervals of what happens to CPUs, reported in the order of time."""

    watched: frozenset[int]
    _intervals: list[OfflineInterval] = field(default_factory=list)

    def went(self, cpu: int, time_ns: int | None) -> None:
        """It is offline from then on; None: it was before the window started."""
        if self._open(cpu) is None:
            self._intervals.append(OfflineInterval(cpu, time_ns, None, cpu in self.watched))

    def came(self, cpu: int, time_ns: int) -> None:
        """It is online from then on."""
        place = self._open(cpu)
        if place is None:  # not there when the window started
            self._intervals.append(OfflineInterval(cpu, None, time_ns, cpu in self.watched))
        else:
            gone = self._intervals[place]
            self._intervals[place] = OfflineInterval(cpu, gone.from_ns, time_ns, gone.watched)

    def _open(self, cpu: int) -> int | None:
        for place, one in enumerate(self._intervals):
            if one.cpu == cpu and one.until_ns is None:
                return place
        return None

    def intervals(self) -> Intervals:
        """All so far."""
        return tuple(self._intervals)


def within(intervals: Intervals, start_ns: int, end_ns: int) -> Intervals:
    """Those of a period: what ended before it or began after it is left out."""
    return tuple(
        one
        for one in intervals
        if (one.from_ns is None or one.from_ns < end_ns)
        and (one.until_ns is None or one.until_ns > start_ns)
    )


def describe_offline(intervals: Iterable[OfflineInterval]) -> str:
    """``CPU 3 OFFLINE, CPU 1 was offline``, or nothing."""
    cpus: dict[str, list[int]] = {}
    for one in intervals:
        place = "" if one.watched else " (not watched)"
        state = "OFFLINE" if one.until_ns is None else "was offline"
        cpus.setdefault(f"{state}{place}", []).append(one.cpu)
    return ", ".join(f"CPU {format_cpu_list(on)} {state}" for state, on in sorted(cpus.items()))


def offline_lines(intervals: Iterable[OfflineInterval], start_ns: int) -> Iterator[str]:
    """A line for each, with moments since ``start_ns``."""
    for one in intervals:
        parts = [f"CPU {one.cpu}"]
        if one.from_ns is not None:
            parts.append(f"from {(one.from_ns - start_ns) / _NS_PER_S:.3f} s")
        if one.until_ns is not None:
            parts.append(f"until {(one.until_ns - start_ns) / _NS_PER_S:.3f} s")
        if one.until_ns is None:
            parts.append("to the end")
        if not one.watched:
            parts.append("(not watched: later events there are not recorded)")
        yield " ".join(parts)


class OfflineSection(Section[Intervals, Intervals]):
    """Reported by the kernel in uevents."""

    rank = 40
    title = "CPUs that were offline: nothing is known of them then"
    head = "offline"
    in_status = True
    before_stop = True

    def open(self, trace: TraceReadings) -> Reader[Intervals]:
        """Part of Section."""
        return Reader(trace.offline_intervals)

    def between(self, before: Intervals, after: Intervals, start_ns: int, end_ns: int) -> Intervals:
        """Part of Section."""
        return within(after, start_ns, end_ns)

    def none(self) -> Intervals:
        """All were online."""
        return ()

    def part(self, value: Intervals, start_ns: int, end_ns: int) -> Intervals:
        """Part of Section."""
        return within(value, start_ns, end_ns)

    def to_file(self, value: Intervals) -> dict[str, Any]:
        """Part of Section."""
        return {"absences": [asdict(one) for one in value]}

    def from_file(self, content: Mapping[str, Any]) -> Intervals:
        """Part of Section."""
        return tuple(
            OfflineInterval(
                whole(row["cpu"]),
                _moment(row["from_ns"]),
                _moment(row["until_ns"]),
                bool(row["watched"]),
            )
            for row in content.get("absences", ())
        )

    def as_dict(self, value: Intervals) -> dict[str, object]:
        """Part of Section."""
        return {"offline_intervals": [asdict(one) for one in value]}

    def brief(self, value: Intervals, duration_ns: int) -> Brief:
        """Part of Section."""
        return Brief(describe_offline(value), alert=bool(value))

    def lines(self, value: Intervals, start_ns: int) -> Iterator[str]:
        """Part of Section."""
        return offline_lines(value, start_ns)


def _moment(value: Any) -> int | None:
    return None if value is None else whole(value)


OFFLINE = SECTION = OfflineSection()
