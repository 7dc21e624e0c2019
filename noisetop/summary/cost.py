"""What interruptions cost: their net time and what entering and leaving took, as calibrated.

docs/cost.md has the formula. A cost is an estimate; net time is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from noisetop.counters.calibration import EntryCost
from noisetop.events.interruption import FAULT, Source

Costs = list[EntryCost | None]
_KINDS = {
    "irq": "irq",
    "timer": "timer",
    "softirq": "softirq",
    "thread": "switch",
    "nmi": "nmi",
    FAULT: "fault",
}
"""Kind of entry by class."""
_IPIS = ("reschedule", "irq_work")
"""Interrupts of other CPUs with a kind of their own; the others call a function."""


_FAULT_STEPS = 2


def entry_kind(source: Source) -> str:
    """The kind of entry into the kernel that its interruptions are, one of
    noisetop.counters.calibration.KINDS; empty: none."""
    if source.noise_class == FAULT and len(source.path) > _FAULT_STEPS:
        return ""  # the sleep in a fault, whose entry is that of the fault
    if source.noise_class == "ipi":
        return source.path[1] if source.path[1] in _IPIS else "call_function"
    return _KINDS.get(source.noise_class, "")


def cost_of(net_ns: int, entries: int, cold: int, entry: EntryCost | None) -> int | None:
    """Net time and the cost of ``entries``, of which ``cold`` are cold, in ns; None without a
    calibration."""
    return None if entry is None else net_ns + entries * entry.entry_ns + cold * entry.cold_more_ns


def cost_range(
    net_ns: int, entries: int, cold: int, entry: EntryCost | None
) -> tuple[int, int] | None:
    """The same with the 10th and the 90th percentile of the entry cost."""
    if entry is None:
        return None
    certain_ns = net_ns + cold * entry.cold_more_ns
    return certain_ns + entries * entry.low_ns, certain_ns + entries * entry.high_ns


class Entries(NamedTuple):
    """Interruptions of one CPU that share an entry cost."""

    cpu: int
    net_ns: int
    entries: int
    """Those that carry the cost of an entry."""
    cold: int
    """Of these."""
    entry: EntryCost | None


def fitting(rows: Sequence[Entries], wall_ns: int) -> Costs:
    """The entry cost of each row, so that those of no CPU cost more than its wall time: net time is
    exact, so it is the entries that cannot have cost the mean. 0: the wall time is not known."""
    rooms: dict[int, _Room] = {}
    for row in rows:
        room = rooms.setdefault(row.cpu, _Room(wall_ns))
        room.left_ns -= row.net_ns
        if row.entry:
            more_ns = row.cold * row.entry.cold_more_ns
            room.mean_ns += row.entries * row.entry.entry_ns + more_ns
            room.high_ns += row.entries * row.entry.high_ns + more_ns
    return [_fitted(row.entry, rooms[row.cpu]) if wall_ns else row.entry for row in rows]


@dataclass(slots=True)
class _Room:
    """For the entries of a CPU, and what they take by their calibration."""

    left_ns: int
    mean_ns: int = 0
    high_ns: int = 0


def _fitted(entry: EntryCost | None, room: _Room) -> EntryCost | None:
    if entry is None or room.high_ns <= room.left_ns:
        return entry
    left_ns = max(room.left_ns, 0)
    cut = room.mean_ns > left_ns
    mean_ns, cold_ns = entry.entry_ns, entry.entry_ns + entry.cold_more_ns
    if cut:
        mean_ns = mean_ns * left_ns // room.mean_ns
        cold_ns = cold_ns * left_ns // room.mean_ns
    beyond_ns = max(left_ns - room.mean_ns, 0)
    more_ns = (entry.high_ns - entry.entry_ns) * beyond_ns // (room.high_ns - room.mean_ns or 1)
    low_ns, high_ns = min(entry.low_ns, mean_ns), mean_ns + more_ns
    return EntryCost(mean_ns, low_ns, high_ns, entry.source, cold_ns - mean_ns, cut)


def shared_entry(parts: Sequence[tuple[int, int, EntryCost | None]]) -> EntryCost | None:
    """The entry cost of parts together, each with how many entries it has and how many of these are
    cold: they differ where one was cut."""
    known = [(entries, cold, entry) for entries, cold, entry in parts if entry is not None]
    if len({entry for _, _, entry in known}) <= 1:
        return known[0][2] if known else None
    whole = max(sum(entries for entries, _, _ in known), 1)
    cold_whole = max(sum(cold for _, cold, _ in known), 1)
    return EntryCost(
        sum(entries * entry.entry_ns for entries, _, entry in known) // whole,
        sum(entries * entry.low_ns for entries, _, entry in known) // whole,
        sum(entries * entry.high_ns for entries, _, entry in known) // whole,
        known[0][2].source,
        sum(cold * entry.cold_more_ns for _, cold, entry in known) // cold_whole,
        any(entry.cut for _, _, entry in known),
    )


def added(*costs: int | None) -> int | None:
    """Their sum; None where one is not known."""
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None
