"""The kernel's own books, to hold ours against."""

from __future__ import annotations

import contextlib
from pathlib import Path

Books = dict[tuple[str, int], int]
"""Counts by (row, CPU)."""

_IPI_ROWS = {
    "Rescheduling interrupts": "RES",
    "Function call interrupts": "CAL",
    "IRQ work interrupts": "IWI",
}
"""By their descriptions: arm64 numbers these rows, IPI0 and on, another way in each kernel."""


def _table(path: str) -> Books:
    lines = Path(path).read_text().splitlines()
    cpus = [int(name.removeprefix("CPU")) for name in lines[0].split()]
    books: Books = {}
    for line in lines[1:]:
        row, *counts = line.replace(":", " ", 1).split()
        row = next((name for text, name in _IPI_ROWS.items() if line.endswith(text)), row)
        for cpu, count in zip(cpus, counts, strict=False):
            if not count.isdigit():
                break
            books[row, cpu] = int(count)
    return books


def interrupts() -> Books:
    """/proc/interrupts: rows are interrupt numbers and LOC, RES, CAL, …"""
    return _table("/proc/interrupts")


def softirqs() -> Books:
    """/proc/softirqs."""
    return _table("/proc/softirqs")


def everything() -> Books:
    """Both."""
    return {**interrupts(), **softirqs()}


def tids_of_init() -> set[int]:
    """The threads of process 1.

    Some guests' kernels hide what happens while these are current from every tracepoint.
    """
    return {int(task.name) for task in Path("/proc/1/task").iterdir()}


def tids_named(beginning: str) -> set[int]:
    """Processes, and so kernel threads, whose name begins like that."""
    tids = set()
    for path in Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # gone since
            if path.read_text().startswith(beginning):
                tids.add(int(path.parent.name))
    return tids


def slices_of_init() -> int:
    """How often the threads of process 1 were switched in so far (third field of schedstat)."""
    slices = 0
    for task in Path("/proc/1/task").iterdir():
        slices += int((task / "schedstat").read_text().split()[2])
    return slices


def run_time_of_init_ns() -> int:
    """How long the threads of process 1 ran so far."""
    return sum(run_time_ns(tid) for tid in tids_of_init())


def run_time_ns(tid: int) -> int:
    """How long a thread ran so far (first field of schedstat)."""
    return int(Path(f"/proc/{tid}/schedstat").read_text().split()[0])
