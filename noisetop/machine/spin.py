"""Looks at the clock in a loop on one CPU and keeps the gaps: needs no privileges."""

from __future__ import annotations

import gc
import os
import time
from dataclasses import dataclass

GAP_NS = 2_000
"""Shorter gaps are those of the loop itself."""


@dataclass(frozen=True, slots=True)
class Spin:
    """What one CPU showed."""

    cpu: int
    duration_ns: int
    starts_ns: tuple[int, ...] = ()
    gaps_ns: tuple[int, ...] = ()
    why: str = ""
    """Why nothing was measured."""


def spin(cpu: int, duration_ns: int) -> Spin:
    """Binds the calling thread to a CPU for a while and back again."""
    before = os.sched_getaffinity(0)
    collecting = gc.isenabled()
    try:
        os.sched_setaffinity(0, {cpu})
    except OSError as error:
        return Spin(cpu, duration_ns, why=f"this program may not run there ({error.strerror})")
    gc.disable()
    try:
        return _watch_clock(cpu, duration_ns)
    finally:
        os.sched_setaffinity(0, before)
        if collecting:
            gc.enable()


def _watch_clock(cpu: int, duration_ns: int) -> Spin:
    now = time.monotonic_ns
    starts, gaps = [], []
    first = last = now()
    end = first + duration_ns
    while last < end:
        current = now()
        if current - last >= GAP_NS:
            starts.append(last)
            gaps.append(current - last)
        last = current
    return Spin(cpu, last - first, tuple(starts), tuple(gaps))
