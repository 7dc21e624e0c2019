"""Memory that goes back to the kernel: what a burst of records took is not kept for ever."""

from __future__ import annotations

import ctypes
import gc
from dataclasses import dataclass

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
"""Of glibc's malloc.h."""
_LARGE = 1 << 19
"""Bytes of an array that is mapped by itself, and unmapped when it is dropped. Left alone, glibc
takes arrays of up to 32 MiB from its heap once it has seen some, and small ones among them keep the
heap at its largest size."""
_HEAPS = 2
"""Else each thread may begin one."""
_TRIM_EVERY_NS = 60_000_000_000
_COLLECT_AFTER = 50_000, 10, 10
"""Objects that are new, then young and older collections until the next older one. A sample is some
10,000 objects, and Python's own 700 has it look at every one of them many times; cycles are few."""


def give_back_memory() -> None:
    """For the rest of this process, where the C library is glibc."""
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "mallopt"):
        return
    for name, value in (
        (_M_MMAP_THRESHOLD, _LARGE),
        (_M_TRIM_THRESHOLD, 4 * _LARGE),
        (_M_ARENA_MAX, _HEAPS),
    ):
        libc.mallopt(name, value)


def collect_rarely() -> None:
    """For the rest of this process: has Python look for cycles less often, which takes a live view
    a quarter of its CPU time where many tasks are new."""
    gc.set_threshold(*_COLLECT_AFTER)


@dataclass(slots=True)
class HeapTrimmer:
    """Gives back the free pages between arrays that stay, which no threshold does."""

    _due_ns: int = 0

    def trim(self, now_ns: int) -> bool:
        """Callable as often as one likes: acts once a minute, for some 2 ms, and returns whether it
        did. Nothing where the C library is not glibc."""
        if now_ns < self._due_ns:
            return False
        self._due_ns = now_ns + _TRIM_EVERY_NS
        libc = ctypes.CDLL(None)
        if not hasattr(libc, "malloc_trim"):
            return False
        libc.malloc_trim(0)
        return True
