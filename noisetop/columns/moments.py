"""The figures of the worst moments: the longest intervals of noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from noisetop.columns.noise import label_of
from noisetop.columns.tasks import UNKNOWN, described
from noisetop.columns.triggers import verb_of
from noisetop.events.task_directory import TaskDirectory
from noisetop.summary.worst import Part, WorstInterruption
from noisetop.text.column import Column, Value, shorten_end, show_count, show_moment, show_ns
from noisetop.text.sanitize import printable

_WHO = 24


@dataclass(frozen=True, slots=True)
class MomentRow:
    """What the columns of a moment are computed from."""

    rank: int
    """1: the longest."""
    moment: WorstInterruption
    origin_ns: int
    """From when on its time counts, CLOCK_MONOTONIC."""
    directory: TaskDirectory
    """Who the tasks are."""

    @property
    def largest(self) -> Part | None:
        """What took most of it."""
        return max(self.moment.parts, key=lambda part: part.net_ns, default=None)

    @property
    def victim(self) -> str:
        """``redis-server 1234``; harmless on a terminal."""
        tid = self.moment.victim_tid
        name = self.directory.name(tid)
        return printable(f"{name} {tid}" if name else str(tid)) if tid else UNKNOWN

    def who(self, part: Part) -> str:
        """Who caused one part, with the verb; empty: not known."""
        if not part.trigger.label:
            return ""
        return f"{verb_of(part.source)} {described(part.trigger, self.directory)}"


def moment_rows(
    moments: Sequence[WorstInterruption], origin_ns: int, directory: TaskDirectory
) -> list[MomentRow]:
    """A row for each, by rank."""
    return [MomentRow(rank, one, origin_ns, directory) for rank, one in enumerate(moments, 1)]


def _what(row: MomentRow) -> str:
    largest = row.largest
    return label_of(largest.source) if largest else "not kept"


def _who(row: MomentRow) -> Value:
    largest = row.largest
    return row.who(largest) or None if largest else None


MOMENT: Column[MomentRow] = Column(
    "path", "Mostly", "", 24, _what, str, "what took most of it", left=True
)
MOMENT_FIGURES: tuple[Column[MomentRow], ...] = (
    Column(
        "noise_ns", "Noise", "ns", 7, lambda row: row.moment.interval.noise_ns, show_ns,
        "time without progress of the victim in one contiguous interval",
    ),
    Column(
        "start_ns", "At", "ns", 10,
        lambda row: row.moment.interval.start_ns - row.origin_ns, show_moment,
        "when it began, after the start",
    ),
    Column("cpu", "CPU", "", 4, lambda row: row.moment.interval.cpu, str, "where it was"),
    Column(
        "trigger", "By", "", _WHO, _who, lambda v: shorten_end(str(v), _WHO),
        "who triggered most of it, or woke the thread", left=True,
    ),
    Column(
        "count", "Intr", "", 7, lambda row: len(row.moment.parts) + row.moment.more_count,
        show_count, "interruptions in it",
    ),
    Column(
        "victim", "Victim", "", _WHO, lambda row: row.victim, lambda v: shorten_end(str(v), _WHO),
        "who lost the time", left=True,
    ),
)  # fmt: skip
