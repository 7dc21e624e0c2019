"""Hypervisor or firmware time, inferred from gaps and from the interrupts that the kernel counted.

A hypervisor takes a CPU away without accounting it as steal whenever it handles something of its
own on it: its tick, a device of another guest. Firmware does with SMIs. All that this kernel can
tell is that it ran nothing then. So this is no explanation, and stays a part of the unexplained:
the rest of gaps that hold no event, and what lies before the first event of the others beyond
their calibrated cost, for a thread that makes no system call gets into the kernel by an interrupt.

Nothing is inferred where the kernel counted more interrupts than were traced: each one that is
missing keeps the longest of these times unexplained.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from noisetop.gaps.explain import Explanation
from noisetop.gaps.gaps import Times
from noisetop.gaps.periodic import Regular, find_regular, is_on_beat

LEAST_NS = 1_000
"""Shorter gaps without an event are caches and pipelines."""


@dataclass(frozen=True, slots=True)
class InterruptCoverage:
    """Interrupts of one CPU between two moments, by the kernel's counters and by the trace."""

    since_ns: int
    until_ns: int
    counted: int
    traced: int
    lost_events: int = 0
    """Those that the tracer lost might each have been such an interrupt."""

    @property
    def missing(self) -> int:
        """At most so many interrupts came that were not traced."""
        return max(self.counted - self.traced, 0) + self.lost_events


@dataclass(frozen=True, slots=True)
class InferredTime:
    """What was inferred. Arrays have one element per stored gap."""

    counted: InterruptCoverage | None
    """None: interrupts could not be counted, so that nothing was inferred."""
    regular: Regular | None
    """The beat of the gaps without an event; on a guest it is mostly the host's tick."""
    regular_ns: Times = field(repr=False)
    """In gaps without an event that come one beat after or before another one."""
    irregular_ns: Times = field(repr=False)
    """In the other gaps without an event."""
    before_ns: Times = field(repr=False)
    """Before the first event of a gap."""

    @property
    def total_ns(self) -> Times:
        """All of it; never more than is unexplained."""
        return self.regular_ns + self.irregular_ns + self.before_ns


def infer_time(explanation: Explanation, counted: InterruptCoverage | None) -> InferredTime:
    """Looks through the unexplained; without ``counted`` nothing can be inferred."""
    nothing = np.zeros(len(explanation.event_ns), np.int64)
    if counted is None:
        return InferredTime(None, None, nothing, nothing, nothing)
    gaps = explanation.gaps
    empty = explanation.before_ns == gaps.length_ns
    rest = explanation.unexplained_ns - explanation.unreported_ns
    ns = np.minimum(rest, np.where(empty, rest, explanation.before_ns - explanation.entry_ns))
    known = (gaps.start_ns >= counted.since_ns) & (gaps.end_ns <= counted.until_ns)
    # Where the scheduler, a cgroup or a signal has a part, the thread was off the CPU.
    whole = (
        (explanation.accounted_ns == 0) & (explanation.unreported_ns == 0) & ~explanation.touched
    )
    ns = np.where(known & whole & (ns >= LEAST_NS), ns, 0)
    ns[np.argsort(-ns, kind="stable")[: counted.missing]] = 0
    chosen = np.flatnonzero(empty & (ns > 0))
    regular = find_regular(gaps.start_ns[chosen], gaps.length_ns[chosen])
    on_beat = np.zeros(len(ns), bool)
    if regular:
        on_beat[chosen] = is_on_beat(gaps.start_ns[chosen], regular)
    return InferredTime(
        counted,
        regular,
        regular_ns=_only(ns, on_beat),
        irregular_ns=_only(ns, empty & ~on_beat),
        before_ns=_only(ns, ~empty),
    )


def _only(ns: Times, chosen: npt.NDArray[np.bool_]) -> Times:
    return np.where(chosen, ns, 0)
