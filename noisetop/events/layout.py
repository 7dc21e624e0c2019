"""The layout of kernel records, from the BTF of the BPF object or from a recording's head.

No offset is typed in Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from noisetop.events.interruption import class_of_file

Events = npt.NDArray[np.void]
"""Structured array of ``struct noise_event``."""

_RENAMED = {
    "noise_books": "noise_cpu_counters",
    "NOISE_BLOCK_KIND_BOOKS": "NOISE_BLOCK_KIND_COUNTERS",
    "NOISE_LEVEL_APART": "NOISE_LEVEL_SIDE",
    "explains": "trigger_of",
}
"""Names in the description of recordings of format 1 that have been renamed since."""


@dataclass(frozen=True, slots=True)
class SourceKind:
    """One ``struct noise_source``: what a .bpf.c file declares."""

    name: str
    noise_class: str
    identity: str
    trigger_of: str = ""
    """Empty: intervals. Else triggers of the events of that source."""
    links: bool = False
    """Tells which object an event of ``trigger_of`` works on."""


class Layout:
    """Layout of the shared records, from ``_native.layout()`` or from a recording."""

    def __init__(self, description: dict[str, Any]) -> None:
        description = _with_current_names(description)
        self.description = description
        self.event = self.dtype("noise_event")
        self.block = self.dtype("noise_block")
        self.trigger = self.dtype("noise_trigger")
        structs = description["structs"]
        self.task_name = self.dtype("noise_task_name") if "noise_task_name" in structs else None
        self.victims = self.values("noise_victims")
        self.wakers = self.values("noise_waker") if "noise_waker" in description["enums"] else {}
        self.flags = self.values("noise_flag")
        self.no_interval = self.flags["NAME"] | self.flags["TRIGGER"] | self.flags["WAIT"]
        """Flags of records that are none of something that ran."""
        self.levels = self.values("noise_level")
        enums = description["enums"]
        roots = "noise_raiser_root"
        self.raiser_roots = self.values(roots) if roots in enums else {}
        self.slept_new = (self.values("noise_slept") if "noise_slept" in enums else {}).get("NEW")
        """Sleep of a task that has just come; None: the records do not tell sleep."""
        marks = self.values("noise_mark") if "noise_mark" in enums else {}
        self.entry_mark = marks.get("ENTRY", 0)
        """Bit above the level of an event that carries the cost of an entry; 0: none is marked."""
        self.open_mark = marks.get("OPEN", 0)
        """That of a wait which goes on when the window ends; 0: none is told."""
        self.contexts = self.values("noise_context")
        self.wait_reasons = [name.lower() for name in self.values("noise_wait")]
        self.block_kinds = self.values("noise_block_kind")
        self.block_magic = int(description["block_magic"])
        self.kinds = {
            int(kind["id"]): SourceKind(
                **{key: kind[key] for key in SourceKind.__slots__ if key in kind}
            )
            for kind in description["sources"]
        }
        for kind in self.kinds.values():
            class_of_file(kind.noise_class)

    @classmethod
    def from_native(cls, native: dict[str, Any]) -> Layout:
        """The layout that the BTF of the embedded object gives."""
        bare = cls({**native, "sources": []})
        identities = {value: name.lower() for name, value in bare.values("noise_identity").items()}
        rows = np.frombuffer(native["sources"], dtype=bare.dtype("noise_source"))
        sources = [
            {
                "id": int(row["id"]),
                "name": row["name"].decode(),
                "noise_class": row["class"].decode(),
                "identity": identities[int(row["identity"])],
                "trigger_of": row["trigger_of"].decode(),
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

    def values(self, name: str) -> dict[str, int]:
        """Values of an enum, names without its own in front."""
        values: dict[str, int] = self.description["enums"][name]
        prefix = name.upper() + "_"
        return {key.removeprefix(prefix): value for key, value in values.items()}

    def labels(self, enum: str) -> list[str]:
        """Names of an enum that numbers the places of an array, in lower case, without the last
        one, which says how many there are; empty where the description lacks it."""
        if enum not in self.description["enums"]:
            return []
        return [name.lower() for name in self.values(enum)][:-1]


def _with_current_names(description: Any) -> Any:
    """The same description, with the names of today in place of older ones."""
    if isinstance(description, dict):
        return {
            _RENAMED.get(key, key): _with_current_names(value) for key, value in description.items()
        }
    if isinstance(description, list):
        return [_with_current_names(value) for value in description]
    return description
