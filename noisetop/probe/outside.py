"""What comes from outside of this kernel, inferred from gaps and from what the kernel counted.

A hypervisor takes a CPU away without admitting it as steal whenever it handles something of its
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

from noisetop.probe.explain import Explanation
from noisetop.probe.gaps import Times
from noisetop.probe.regular import Regular, find_regular, is_on_beat

LEAST_NS = 1_000
"""Shorter gaps without an event are caches and pipelines."""


@dataclass(frozen=True, slots=True)
class Counted:
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
class Outside:
    """What was inferred. Arrays have one element per stored gap."""

    counted: Counted | None
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


def infer_outside(told: Explanation, counted: Counted | None) -> Outside:
    """Looks through the unexplained; without ``counted`` nothing can be inferred."""
    nothing = np.zeros(len(told.event_ns), np.int64)
    if counted is None:
        return Outside(None, None, nothing, nothing, nothing)
    gaps = told.gaps
    empty = told.before_ns == gaps.length_ns
    rest = told.unexplained_ns - told.unreported_ns
    ns = np.minimum(rest, np.where(empty, rest, told.before_ns - told.entry_ns))
    known = (gaps.start_ns >= counted.since_ns) & (gaps.end_ns <= counted.until_ns)
    # Where the scheduler, a cgroup or a signal has a part, the thread was off the CPU.
    whole = (told.admitted_ns == 0) & (told.unreported_ns == 0) & ~told.touched
    ns = np.where(known & whole & (ns >= LEAST_NS), ns, 0)
    ns[np.argsort(-ns, kind="stable")[: counted.missing]] = 0
    chosen = np.flatnonzero(empty & (ns > 0))
    regular = find_regular(gaps.start_ns[chosen], gaps.length_ns[chosen])
    on_beat = np.zeros(len(ns), bool)
    if regular:
        on_beat[chosen] = is_on_beat(gaps.start_ns[chosen], regular)
    return Outside(
        counted,
        regular,
        regular_ns=_only(ns, on_beat),
        irregular_ns=_only(ns, empty & ~on_beat),
        before_ns=_only(ns, ~empty),
    )


def _only(ns: Times, chosen: npt.NDArray[np.bool_]) -> Times:
    return np.where(chosen, ns, 0)
