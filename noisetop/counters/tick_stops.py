"""Attempts of the kernel to stop the tick: how many it made, and what kept the tick running."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from noisetop.checked_json import whole
from noisetop.counters.section import CpuFigure, Reader, Section, TraceReadings
from noisetop.text.column import Column, show_count
from noisetop.text.sanitize import printable

TickStops = Mapping[str, int]
"""Attempts by what came of them: names of ``enum noise_tick``, in lower case."""

StopsByCpu = Mapping[int, TickStops]

_FIELD, _ENUM = "ticks", "noise_tick"
STOPPED = "stopped"
WORDS = {
    "posix_timer": "CPU-time timers",
    "perf_events": "perf events",
    "scheduler": "the scheduler",
    "clock_unstable": "an unstable clock",
    "rcu": "RCU",
    "rcu_expedited": "RCU in a hurry",
    "other": "something else",
}
"""What keeps the tick running; the names are those of TICK_DEP_MASK_* in include/linux/tick.h."""


def kept_by(stops: TickStops) -> list[tuple[str, int]]:
    """What kept the tick running and how often, most often first."""
    kept = [(reason, count) for reason, count in stops.items() if reason != STOPPED and count]
    return sorted(kept, key=lambda one: (-one[1], one[0]))


def reason_words(reason: str) -> str:
    """What keeps the tick running in words, harmless on a terminal."""
    return WORDS.get(reason) or printable(reason)


def added(parts: Iterable[TickStops]) -> dict[str, int]:
    """The attempts of several CPUs or periods together."""
    total: dict[str, int] = {}
    for part in parts:
        for reason, count in part.items():
            total[reason] = total.get(reason, 0) + count
    return total


def since(before: StopsByCpu, now: StopsByCpu) -> dict[int, TickStops]:
    """Attempts between two counts, by CPU."""
    return {
        cpu: {reason: count - before.get(cpu, {}).get(reason, 0) for reason, count in stops.items()}
        for cpu, stops in now.items()
    }


def tick_lines(stops_by_cpu: StopsByCpu) -> Iterator[str]:
    """A line for each CPU on which an attempt was made."""
    for cpu, stops in stops_by_cpu.items():
        if not any(stops.values()):
            continue
        parts = [f"stopped {_times(stops.get(STOPPED, 0))}"]
        kept = kept_by(stops)
        if kept:
            reasons = ", ".join(f"{reason_words(name)} {_times(count)}" for name, count in kept)
            parts.append(f"kept on by {reasons}")
        yield f"CPU {cpu}: the tick was {'; '.join(parts)}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _of(figure: CpuFigure[StopsByCpu]) -> TickStops:
    if figure.cpu is None:
        return added(figure.value.values())
    return figure.value.get(figure.cpu, {})


def _most_kept(figure: CpuFigure[StopsByCpu]) -> str | None:
    kept = kept_by(_of(figure))
    return f"{reason_words(kept[0][0])} {show_count(kept[0][1])}" if kept else None


class TickStopsSection(Section[StopsByCpu, StopsByCpu]):
    """Counted by the kernel side on each watched CPU."""

    rank = 50
    title = "Attempts to stop the tick"
    cpu_columns: ClassVar[Sequence[Column[CpuFigure[Any]]]] = (
        Column(
            "tick_stopped", "Tick off", "", 8,
            lambda figure: _of(figure).get(STOPPED) or None, show_count,
            "how often the kernel stopped the tick",
        ),
        Column(
            "tick_kept_by", "Tick kept on by", "", 25, _most_kept, str,
            "what most often kept the tick running, and how often", left=True,
        ),
    )  # fmt: skip

    def open(self, trace: TraceReadings) -> Reader[StopsByCpu]:
        """Part of Section."""

        def read() -> StopsByCpu:
            stops = trace.cpu_counters(_FIELD, _ENUM)
            return {cpu: stops[cpu] for cpu in trace.cpus}

        return Reader(read)

    def between(
        self, before: StopsByCpu, after: StopsByCpu, start_ns: int, end_ns: int
    ) -> StopsByCpu:
        """Part of Section."""
        return since(before, after)

    def none(self) -> StopsByCpu:
        """No attempt."""
        return {}

    def to_file(self, value: StopsByCpu) -> dict[str, Any]:
        """Part of Section."""
        return {"tick_stops": {str(cpu): dict(stops) for cpu, stops in value.items()}}

    def from_file(self, content: Mapping[str, Any]) -> StopsByCpu:
        """Part of Section."""
        return {
            whole(cpu): {str(reason): whole(count) for reason, count in stops.items()}
            for cpu, stops in content.get("tick_stops", {}).items()
        }

    def from_cpu_counters(
        self, read: Callable[[str, str], dict[int, dict[str, int]]], cpus: Sequence[int]
    ) -> StopsByCpu:
        """Part of Section."""
        return {cpu: stops for cpu, stops in read(_FIELD, _ENUM).items() if cpu in cpus}

    def cpu_as_dict(self, value: StopsByCpu, cpu: int) -> dict[str, object]:
        """Part of Section."""
        return {"tick_stops": dict(value.get(cpu, {}))}

    def live_lines(self, value: StopsByCpu, duration_ns: int) -> Iterator[str]:
        """Part of Section."""
        return tick_lines(value)

    def lines(self, value: StopsByCpu, start_ns: int) -> Iterator[str]:
        """Part of Section."""
        return tick_lines(value)


TICK_STOPS = SECTION = TickStopsSection()
