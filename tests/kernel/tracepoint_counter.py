"""How often a tracepoint was hit on a CPU, as the kernel's perf events count it."""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from collections.abc import Iterator
from contextlib import contextmanager

from tests.kernel.kernel_trace import TRACEFS

# include/uapi/linux/perf_event.h, and the system call's number by machine
_TYPE_TRACEPOINT, _SET_FILTER, _CLOEXEC = 2, 0x40082406, 8
_SYS_PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}
_ATTR = struct.Struct("=2I6Q")


@contextmanager
def tracepoint_counter(event: str, condition: str, cpu: int) -> Iterator[int]:
    """A descriptor of a counter of ``subsystem/name``, where its arguments fulfil a condition."""
    number = int((TRACEFS / "events" / event / "id").read_text())
    attributes = ctypes.create_string_buffer(
        _ATTR.pack(_TYPE_TRACEPOINT, 64, number, 0, 0, 0, 0, 0), 64
    )
    libc = ctypes.CDLL(None, use_errno=True)
    place = _SYS_PERF_EVENT_OPEN[platform.machine()]
    fd: int = libc.syscall(ctypes.c_long(place), attributes, -1, cpu, -1, ctypes.c_long(_CLOEXEC))
    assert fd >= 0, os.strerror(ctypes.get_errno())
    try:
        filter_text = ctypes.create_string_buffer(condition.encode())
        assert libc.ioctl(fd, _SET_FILTER, filter_text) == 0, os.strerror(ctypes.get_errno())
        yield fd
    finally:
        os.close(fd)


def count(fd: int) -> int:
    """Hits since the counter was opened."""
    return int.from_bytes(os.read(fd, 8), "little")
