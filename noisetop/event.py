"""Kernel records, their layout, and the interruptions that every view works on.

Bytes end here: the layout comes from the BTF of the BPF object or from a recording's head, and is
typed nowhere in Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Events = npt.NDArray[np.void]
"""Structured array of ``struct noise_event``."""

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
    ]
)

CLASSES = ("nmi", "irq", "ipi", "timer", "softirq", "thread", "fault", "entry", "hardware")
"""Order of the classes: what interrupts everything else first."""
FAULT = "fault"
"""The class of what tasks do themselves."""
ENTRY = "entry"
"""The class of entries into the kernel, which lie around what has a class of its own."""
HARDWARE = "hardware"
APART_LEVEL = 8
"""``NOISE_LEVEL_APART``: no interruption, but what a task did itself, or what takes no time."""


class Flag(IntFlag):
    """Bits of ``flags``; names and values are those of ``enum noise_flag``."""

    OUTERMOST = 1
    UNHANDLED = 2
    CONTINUED = 4
    THREADED = 8
    SELF = 16
    NAME = 32
    TRIGGER = 64
    WAIT = 128


def task_name(comm: bytes) -> str:
    """A field ``comm`` as text. Old kernels leave what a longer name left behind its NUL: 5.10's
    set_task_comm() copies without padding."""
    return comm.partition(b"\0")[0].decode(errors="replace")


def interrupting(table: Interruptions) -> Interruptions:
    """The rows that can be noise: without page faults, entries and moments of the hardware."""
    apart = table["level"] == APART_LEVEL
    return table[~apart] if apart.any() else table


class Source(NamedTuple):
    """Who takes time: a path of two to four steps, class first."""

    path: tuple[str, ...]

    @property
    def noise_class(self) -> str:
        """First step: one of ``CLASSES``."""
        return self.path[0]

    @property
    def label(self) -> str:
        """The path in one line."""
        return " › ".join(self.path)


@dataclass(frozen=True, slots=True)
class SourceKind:
    """One ``struct noise_source``: what a .bpf.c file declares."""

    name: str
    noise_class: str
    identity: str
    explains: str = ""
    """Empty: intervals. Else triggers of the events of that source."""
    links: bool = False
    """Tells which object an event of ``explains`` works on."""


class Layout:
    """Layout of the shared records, from ``_native.layout()`` or from a recording."""

    def __init__(self, description: dict[str, Any]) -> None:
        self.description = description
        self.event = self.dtype("noise_event")
        self.block = self.dtype("noise_block")
        self.trigger = self.dtype("noise_trigger")
        self.victims = self._enum("noise_victims")
        self.wakers = self._enum("noise_waker") if "noise_waker" in description["enums"] else {}
        self.block_kinds = self._enum("noise_block_kind")
        self.block_magic = int(description["block_magic"])
        self.loss_reasons = [name.lower() for name in self._enum("noise_loss")][:-1]
        self.tick_reasons = (
            [name.lower() for name in self._enum("noise_tick")][:-1]
            if "noise_tick" in description["enums"]
            else []
        )
        self.kinds = {
            int(kind["id"]): SourceKind(
                **{key: kind[key] for key in SourceKind.__slots__ if key in kind}
            )
            for kind in description["sources"]
        }

    @classmethod
    def from_native(cls, native: dict[str, Any]) -> Layout:
        """The layout that the BTF of the embedded object gives."""
        bare = cls({**native, "sources": []})
        classes = {value: name.lower() for name, value in bare._enum("noise_class").items()}
        identities = {value: name.lower() for name, value in bare._enum("noise_identity").items()}
        rows = np.frombuffer(native["sources"], dtype=bare.dtype("noise_source"))
        sources = [
            {
                "id": int(row["id"]),
                "name": row["name"].decode(),
                "noise_class": classes[int(row["class"])],
                "identity": identities[int(row["identity"])],
                "explains": row["explains"].decode(),
                "links": bool(row["links"]),
            }
            for row in rows
        ]
        return cls({**native, "sources": sources})

    def dtype(self, struct: str) -> np.dtype[np.void]:
        """NumPy type of a struct, by name."""
        described = self.description["structs"][struct]
        names, formats, offsets = [], [], []
        for name, offset, kind, _, size, count in described["members"]:
            if kind == "struct":
                continue
            names.append(name)
            offsets.append(offset)
            if kind == "bytes":
                formats.append(f"S{count}")
            else:
                formats.append(f"<u{size}" if count == 1 else f"({count},)<u{size}")
        return np.dtype(
            {
                "names": names,
                "formats": formats,
                "offsets": offsets,
                "itemsize": described["size"],
            }
        )

    def _enum(self, name: str) -> dict[str, int]:
        """Values of an enum, names without its own in front."""
        values: dict[str, int] = self.description["enums"][name]
        prefix = name.upper() + "_"
        return {key.removeprefix(prefix): value for key, value in values.items()}

    def levels(self) -> dict[str, int]:
        """Names and values of ``enum noise_level``."""
        return self._enum("noise_level")

    def flags(self) -> dict[str, int]:
        """Names and values of ``enum noise_flag``."""
        return self._enum("noise_flag")
