"""Kernel records, their layout, and the interruptions that every view works on.

Bytes end here: the layout comes from the BTF of the BPF object or from a recording's head, and is
typed nowhere in Python.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntFlag
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Interruptions = npt.NDArray[np.void]
"""Structured array of INTERRUPTION."""

INTERRUPTION = np.dtype(
    [
        ("start_ns", "<u8"),
        ("gross_ns", "<u8"),
        ("net_ns", "<u8"),
        ("source", "<u4"),  # index into the Source list that goes with the table
        ("victim_tid", "<u4"),  # 0: the CPU was idle, nobody lost time
        ("tid", "<u4"),  # task that was current; for a thread source the one that ran
        ("cpu", "<u2"),
        ("level", "u1"),
        ("flags", "u1"),
        ("trigger", "<u4"),  # index into the Trigger list that goes with the table, 0: unknown
        ("trigger_ns", "<u8"),  # when the trigger acted, CLOCK_MONOTONIC; 0: not known
        ("origin", "u1"),  # whose doing it was: noisetop.events.origin.Origin
    ]
)

CLASSES = ("nmi", "irq", "ipi", "timer", "softirq", "thread", "fault", "entry", "hardware")
"""Order of the classes: what interrupts everything else first."""
OTHER, OTHER_TID = "other", 0
"""What stands for sources and tasks of a running trace beyond a bound; no victim has that tid."""
FAULT = "fault"
"""The class of what tasks do themselves."""
ENTRY = "entry"
"""The class of entries into the kernel, which lie around what has a class of its own."""
HARDWARE = "hardware"
SIDE_LEVEL = 8
"""No interruption, but what a task did itself, or what takes no time."""


def in_class_order(names: Iterable[str]) -> list[str]:
    """Classes in the order of ``CLASSES``, then those that are not in it, by name."""
    met = set(names)
    return [name for name in CLASSES if name in met] + sorted(met.difference(CLASSES))


class Flag(IntFlag):
    """Bits of ``flags`` in a table of interruptions and in the files that hold such tables; records
    of the kernel side have these and others (``enum noise_flag``)."""

    OUTERMOST = 1
    UNHANDLED = 2
    CONTINUED = 4
    THREADED = 8
    SELF = 16
    ENTRY = 32
    """It carries the cost of entering the kernel, or of switching away from the victim and back."""
    COLD = 64
    """Its entry is a cold one: noisetop.events.cold_entries. Only with ENTRY."""

    def among(self, flags: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
        """Which rows of a column have one of these. Beside an enum as it is NumPy makes each row a
        number of eight bytes, which takes five times as long."""
        found: npt.NDArray[np.bool_] = flags & np.uint8(self) != 0
        return found


NO_ENTRY = np.uint8(0xFF ^ (Flag.ENTRY | Flag.COLD))
"""Mask of the flags of a part that is not the first one of its interruption."""


def task_name(comm: bytes) -> str:
    """A field ``comm`` as text. Old kernels leave what a longer name left behind its NUL: 5.10's
    set_task_comm() copies without padding."""
    return comm.partition(b"\0")[0].decode(errors="replace")


def interrupting(table: Interruptions) -> Interruptions:
    """The rows that can be noise: without page faults, entries and moments of the hardware."""
    side = table["level"] == SIDE_LEVEL
    return table[~side] if side.any() else table


def class_of_file(name: str) -> str:
    """A class that a file holds, maybe one that we do not know. Raises ValueError where it is no
    word: titles and keys are made of it."""
    if not (name.isascii() and name.isidentifier()):
        raise ValueError("a class that is no word")
    return name


class Source(NamedTuple):
    """Who takes time: a path of two to four steps, class first."""

    path: tuple[str, ...]

    @classmethod
    def of_file(cls, path: Iterable[Any]) -> Source:
        """One that a file holds. Raises ValueError where it is none of ours."""
        noise_class, *names = map(str, path)
        if not names:
            raise ValueError("a source without a name")
        return cls((class_of_file(noise_class), *names))

    @property
    def noise_class(self) -> str:
        """First step: one of ``CLASSES``."""
        return self.path[0]

    @property
    def label(self) -> str:
        """The path in one line."""
        return " › ".join(self.path)

    @property
    def other(self) -> Source:
        """Stands for all of its class that is not told apart."""
        return Source((self.noise_class, OTHER))


UNATTRIBUTED = Source(("thread", "unattributed"))
"""Time in which a victim waited for its CPU and nothing is known to have run."""
