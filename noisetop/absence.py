"""CPUs that were offline for a while, as a recording holds it and in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from noisetop.system import format_cpu_list

_NS_PER_S = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Absence:
    """A CPU was offline. Moments are CLOCK_MONOTONIC, told by the kernel just after the fact."""

    cpu: int
    from_ns: int | None
    """None: before the books were opened."""
    until_ns: int | None
    """None: it still is."""
    watched: bool = True


@dataclass(slots=True)
class AbsenceBook:
    """Makes absences of what happens to CPUs, told in the order of time."""

    watched: frozenset[int]
    _absences: list[Absence] = field(default_factory=list)

    def went(self, cpu: int, time_ns: int | None) -> None:
        """It is offline from then on; None: it was before the books were opened."""
        if self._open(cpu) is None:
            self._absences.append(Absence(cpu, time_ns, None, cpu in self.watched))

    def came(self, cpu: int, time_ns: int) -> None:
        """It is online from then on."""
        place = self._open(cpu)
        if place is None:  # not there when the books were opened
            self._absences.append(Absence(cpu, None, time_ns, cpu in self.watched))
        else:
            gone = self._absences[place]
            self._absences[place] = Absence(cpu, gone.from_ns, time_ns, gone.watched)

    def _open(self, cpu: int) -> int | None:
        for place, one in enumerate(self._absences):
            if one.cpu == cpu and one.until_ns is None:
                return place
        return None

    def between(self, start_ns: int, end_ns: int) -> tuple[Absence, ...]:
        """Those of a period: what ended before it or began after it is left out."""
        return tuple(
            one
            for one in self._absences
            if (one.from_ns is None or one.from_ns < end_ns)
            and (one.until_ns is None or one.until_ns > start_ns)
        )


def describe_absences(absences: Iterable[Absence]) -> str:
    """``CPU 3 OFFLINE, CPU 1 was offline``, or nothing."""
    cpus: dict[str, list[int]] = {}
    for one in absences:
        place = "" if one.watched else " (not watched)"
        state = "OFFLINE" if one.until_ns is None else "was offline"
        cpus.setdefault(f"{state}{place}", []).append(one.cpu)
    return ", ".join(f"CPU {format_cpu_list(on)} {state}" for state, on in sorted(cpus.items()))


def absence_lines(absences: Iterable[Absence], start_ns: int) -> Iterator[str]:
    """A line for each, with moments since ``start_ns``."""
    for one in absences:
        parts = [f"CPU {one.cpu}"]
        if one.from_ns is not None:
            parts.append(f"from {(one.from_ns - start_ns) / _NS_PER_S:.3f} s")
        if one.until_ns is not None:
            parts.append(f"until {(one.until_ns - start_ns) / _NS_PER_S:.3f} s")
        if one.until_ns is None:
            parts.append("to the end")
        if not one.watched:
            parts.append("(not watched: what happened there later is not among the events)")
        yield " ".join(parts)


def absences_as_list(absences: Iterable[Absence]) -> list[dict[str, Any]]:
    """Ready for the json module; absences_from_list() is its inverse."""
    return [asdict(one) for one in absences]


def absences_from_list(rows: Iterable[dict[str, Any]]) -> tuple[Absence, ...]:
    """Raises KeyError, TypeError or ValueError on what we did not write."""
    return tuple(
        Absence(
            int(row["cpu"]), _moment(row["from_ns"]), _moment(row["until_ns"]), bool(row["watched"])
        )
        for row in rows
    )


def _moment(value: Any) -> int | None:
    return None if value is None else int(value)
