"""Causes of noise that are not threads: switched on for the length of a with statement."""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

from tests.guests.machine import PROJECT
from tests.kernel import books

# include/uapi/linux/perf_event.h, and the number of the system call on x86-64
_SYS_PERF_EVENT_OPEN = 298
_TYPE_SOFTWARE, _CONTEXT_SWITCHES = 1, 3  # clocks turn a frequency into a period
_FREQUENCY_BIT = 1 << 10
_ATTRIBUTE_BYTES = 112


@contextlib.contextmanager
def setting(path: str, value: str) -> Iterator[None]:
    """A file of the kernel's with another content."""
    file = Path(path)
    before = file.read_text()
    file.write_text(value)
    try:
        yield
    finally:
        file.write_text(before)


@contextlib.contextmanager
def frequency_event(cpu: int) -> Iterator[None]:
    """A perf event of a CPU that asks for a frequency, as ``perf record -F`` opens it."""
    head = (_TYPE_SOFTWARE, _ATTRIBUTE_BYTES, _CONTEXT_SWITCHES, 100, 0, 0, _FREQUENCY_BIT)
    attribute = struct.pack("<IIQQQQQ", *head).ljust(_ATTRIBUTE_BYTES, b"\0")
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(_SYS_PERF_EVENT_OPEN, attribute, -1, cpu, -1, 0)
    assert fd >= 0, os.strerror(ctypes.get_errno())
    try:
        yield
    finally:
        os.close(fd)


@contextlib.contextmanager
def flipping_key(cpu: int) -> Iterator[int]:
    """A thread that switches the steering of received packets on and off; yields its tid.

    It is kept behind a static key: each time the kernel rewrites its code. Nothing is received, as
    the emulator does not take it well when that code runs meanwhile.
    """
    over, tids = threading.Event(), []
    file = Path("/sys/class/net/lo/queues/rx-0/rps_cpus")
    before = file.read_text()

    def flip() -> None:
        os.sched_setaffinity(0, {cpu})
        tids.append(threading.get_native_id())
        value = 0
        while not over.wait(0.05):
            value ^= 1 << cpu
            file.write_text(f"{value:x}")

    thread = threading.Thread(target=flip)
    thread.start()
    try:
        yield tids[0]
    finally:
        over.set()
        thread.join()
        file.write_text(before)


@contextlib.contextmanager
def file_reader() -> Iterator[None]:
    """A thread that asks the host for files, so that a device of this machine interrupts."""
    over = threading.Event()

    def read() -> None:
        while not over.wait(0.01):
            (PROJECT / "Makefile").read_bytes()

    thread = threading.Thread(target=read)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def interrupt_of_files() -> int:
    """The interrupt that comes when a file of the host is read."""
    before = books.interrupts()
    for _ in range(20):
        (PROJECT / "Makefile").read_bytes()
    after = books.interrupts()
    risen = {
        row: sum(after[r, c] - before.get((r, c), 0) for r, c in after if r == row)
        for row, _ in after
        if row.isdigit()
    }
    return int(max(risen, key=lambda row: risen[row]))
