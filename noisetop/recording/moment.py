"""A moment of a running trace that is worth a file, and its exact figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from noisetop.checked_json import whole
from noisetop.recording.recording import Recording

SINGLE, TOTAL, WAIT, SOURCE, GAP = "single", "interval", "wait", "source", "gap"
"""Kinds: a noise interval, noise of a period, a wait of a victim, an event of a source, a gap
that a spinning thread saw."""
ASKED, LOOK = "asked", "look"
"""And the whole window: what somebody asked for, and a look at who the victims are."""
ANY_CPU = -1
TRIGGER, MARKS, LIMITED = "trigger", "marks", "limited"
"""Keys of the metadata of a snapshot: its moment, names that were put on moments, and whether the
bound in bytes left out some of what was asked for."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What was found in records as they come; an estimate that is never too small."""

    kind: str
    cpu: int
    """ANY_CPU: it is about all of them."""
    start_ns: int
    end_ns: int
    """CLOCK_MONOTONIC."""
    size_ns: int
    """What it is ordered by; of an event of a source its net time."""
    threshold_ns: int = 0
    """That it reached; 0: it did not need to."""
    name: str = ""
    """Who asked, or for which source. Untrusted."""

    def overlaps(self, start_ns: int, end_ns: int) -> bool:
        """Whether some of it lies in a period."""
        return self.start_ns <= end_ns and self.end_ns >= start_ns

    def as_dict(self) -> dict[str, Any]:
        """As the metadata of a recording has it."""
        return {
            "kind": self.kind,
            "cpu": None if self.cpu == ANY_CPU else self.cpu,
            "start_ns": self.start_ns,
            "end_ns": self.end_ns,
            "threshold_ns": self.threshold_ns,
            "name": self.name,
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Moment:
        """The inverse. Raises KeyError, TypeError or ValueError on what we did not write."""
        cpu = content["cpu"]
        start_ns, end_ns = whole(content["start_ns"]), whole(content["end_ns"])
        return cls(
            str(content["kind"]),
            ANY_CPU if cpu is None else whole(cpu),
            start_ns,
            end_ns,
            end_ns - start_ns,
            whole(content["threshold_ns"]),
            str(content["name"]),
        )


@dataclass(frozen=True, slots=True)
class Figures:
    """What a recording tells of its moment."""

    cpu: int
    start_ns: int
    duration_ns: int
    net_ns: int
    cost_ns: int | None
    """None: there is no calibration."""
    source: tuple[str, ...]
    """Path of the source that has most of it; empty: not known."""
    by: str
    """Who is behind that, harmless on a terminal; empty: not known."""
    lost: int = 0
    """Records that are missing in the recording."""

    def as_dict(self) -> dict[str, Any]:
        """As the index of a folder has it."""
        return {
            "cpu": self.cpu,
            "start_ns": self.start_ns,
            "duration_ns": self.duration_ns,
            "net_ns": self.net_ns,
            "cost_ns": self.cost_ns,
            "source": list(self.source),
            "by": self.by,
            "lost": self.lost,
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Figures:
        """The inverse. Raises KeyError, TypeError or ValueError on what we did not write."""
        cost_ns = content["cost_ns"]
        return cls(
            cpu=whole(content["cpu"]),
            start_ns=whole(content["start_ns"]),
            duration_ns=whole(content["duration_ns"]),
            net_ns=whole(content["net_ns"]),
            cost_ns=None if cost_ns is None else whole(cost_ns),
            source=tuple(map(str, content["source"])),
            by=str(content["by"]),
            lost=whole(content["lost"]),
        )


@dataclass(frozen=True, slots=True)
class KeptMoment:
    """One of the worst moments, and its file."""

    rank: int
    """1: the worst."""
    file: Path
    figures: Figures


def moment_of(recording: Recording) -> Moment | None:
    """What a recording was made for; None: it is no snapshot."""
    told = recording.metadata.get(TRIGGER)
    try:
        moment = Moment.from_dict(dict(told)) if isinstance(told, Mapping) else None
    except (KeyError, TypeError, ValueError):  # of a file that was changed
        return None
    inside = moment and recording.start_ns <= moment.start_ns <= moment.end_ns <= recording.end_ns
    return moment if inside else None


def marks_of(recording: Recording) -> Iterator[tuple[int, str]]:
    """Moments in it (CLOCK_MONOTONIC, ns) and the names that were put on them. Untrusted."""
    told = recording.metadata.get(MARKS)
    for one in told if isinstance(told, list) else ():
        try:
            time_ns, name = whole(one["time_ns"]), str(one["name"])
        except (KeyError, TypeError, ValueError):  # of a file that was changed
            continue
        if recording.start_ns <= time_ns <= recording.end_ns:
            yield time_ns, name
