"""This process has left a CPU for good: what it unmaps does not interrupt it there."""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Iterable
from pathlib import Path

from noisetop.machine import affinity

_TRIMMED_WITHIN_S = 6.0
_TRIMS_EVERY_S = 1.1


def leave(cpu: int, housekeeping: Iterable[int]) -> None:
    """Binds this process to its housekeeping CPUs, and waits until a flush of what it unmaps no
    longer reaches ``cpu``, which others must keep busy: an idle CPU is spared, and stays due.

    Since Linux 6.14 a CPU on which a process ran stays in its mm_cpumask when it goes on to another
    process (arch/x86/mm/tlb.c). At most once a second, should_trim_cpumask(), the next flush is
    sent there as well, and takes it out. Before a test has seen that one, it may come in the middle
    of it. The CPU is visited first, so that there is one to be seen; an older kernel and another
    machine send none. A flush may be somebody else's, or come before the CPU has gone on to the
    other process, and then it does not take it out: so none may come until another one is due.
    """
    os.sched_setaffinity(0, {cpu})
    affinity.bind(housekeeping)
    quiet_since = time.monotonic()
    end = quiet_since + _TRIMMED_WITHIN_S
    while time.monotonic() < min(end, quiet_since + _TRIMS_EVERY_S):
        time.sleep(0.01)
        if (before := _flushes(cpu)) is None:
            return
        _unmap()
        if _flushes(cpu) != before:
            quiet_since = time.monotonic()


def _flushes(cpu: int) -> int | None:
    """Of the TLB that others asked a CPU for; None where that is not told."""
    heads, *rows = Path("/proc/interrupts").read_text().splitlines()
    column = heads.split().index(f"CPU{cpu}") + 1
    return next((int(row.split()[column]) for row in rows if row.split()[0] == "TLB:"), None)


def _unmap() -> None:
    """Touches a page and gives it back."""
    with mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as page:
        page[0] = 1
