"""Attempts of the kernel to stop the tick: how many it made, and what kept the tick running."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from noisetop.sanitize import printable

TickStops = Mapping[str, int]
"""Attempts by what came of them: names of ``enum noise_tick``, in lower case."""

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


def since(before: Mapping[int, TickStops], now: Mapping[int, TickStops]) -> dict[int, TickStops]:
    """What came between two counts, by CPU."""
    return {
        cpu: {reason: count - before.get(cpu, {}).get(reason, 0) for reason, count in stops.items()}
        for cpu, stops in now.items()
    }


def tick_lines(stops_by_cpu: Iterable[tuple[int | None, TickStops]]) -> Iterator[str]:
    """A line for each CPU on which an attempt was made."""
    for cpu, stops in stops_by_cpu:
        if not any(stops.values()):
            continue
        parts = [f"stopped {_times(stops.get(STOPPED, 0))}"]
        kept = kept_by(stops)
        if kept:
            reasons = ", ".join(f"{reason_words(name)} {_times(count)}" for name, count in kept)
            parts.append(f"kept running by {reasons}")
        yield f"CPU {cpu}: the tick was {'; '.join(parts)}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
