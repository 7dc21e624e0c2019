"""What interruptions cost: their net time and what entering and leaving took, as calibrated.

docs/cost.md has the formula. A cost is an estimate; net time is exact.
"""

from __future__ import annotations

from noisetop.counters.calibration import EntryCost
from noisetop.events.interruption import FAULT, Source

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


def entry_kind(source: Source) -> str:
    """The kind of entry into the kernel that its interruptions are, one of
    noisetop.counters.calibration.KINDS; empty: none."""
    if source.noise_class == "ipi":
        return source.path[1] if source.path[1] in _IPIS else "call_function"
    return _KINDS.get(source.noise_class, "")


def cost_of(net_ns: int, entries: int, entry: EntryCost | None) -> int | None:
    """Net time and ``entries`` times the entry cost, in ns; None without a calibration."""
    return None if entry is None else net_ns + entries * entry.entry_ns


def entries_in(net_ns: int, cost_ns: int | None, entry: EntryCost | None) -> int:
    """How many entries a cost holds: the inverse of cost_of()."""
    return (cost_ns - net_ns) // entry.entry_ns if cost_ns and entry and entry.entry_ns else 0


def cost_range(net_ns: int, entries: int, entry: EntryCost | None) -> tuple[int, int] | None:
    """The same with the 10th and the 90th percentile of the entry cost."""
    if entry is None:
        return None
    return net_ns + entries * entry.low_ns, net_ns + entries * entry.high_ns


def added(*costs: int | None) -> int | None:
    """Their sum; None where one is not known."""
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None
