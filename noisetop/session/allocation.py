"""Memory that goes back to the kernel: what a burst of records took is not kept for ever."""

from __future__ import annotations

import ctypes

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
"""Of glibc's malloc.h."""
_LARGE = 1 << 20
"""Bytes of an array that is mapped by itself, and unmapped when it is dropped. Left alone, glibc
takes arrays of up to 32 MiB from its heap once it has seen some, and small ones among them keep the
heap at its largest size."""
_HEAPS = 2
"""Else each thread may begin one."""


def give_back_memory() -> None:
    """For the rest of this process, where the C library is glibc."""
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "mallopt"):
        return
    for name, value in (
        (_M_MMAP_THRESHOLD, _LARGE),
        (_M_TRIM_THRESHOLD, 2 * _LARGE),
        (_M_ARENA_MAX, _HEAPS),
    ):
        libc.mallopt(name, value)
