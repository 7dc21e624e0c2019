"""The table of the worst moments: the longest intervals of noise, and their parts."""

from __future__ import annotations

from collections.abc import Iterator

from noisetop.flat_tables.kinds import CLASS_MEANING, ORIGIN_MEANING, SOURCE_MEANING
from noisetop.flat_tables.schema import TEXT, Batch, Cell, Column, FlatTable, batch_of
from noisetop.recording.recording import Recording
from noisetop.summary.worst import WORST_KEPT, WorstInterruption, summarize_with_worst

_COLUMNS = (
    Column("moment", "uint16", "1: the longest interval, 2: the next one, up to 10"),
    Column("cpu", "uint16", "where it was"),
    Column("start_ns", "uint64", "when the interval began, CLOCK_MONOTONIC"),
    Column("end_ns", "uint64", "when it ended"),
    Column("noise_ns", "uint64", "time taken in it; do not sum over its parts"),
    Column("victim_tid", "uint32", "thread that lost the time"),
    Column("victim", TEXT, "its name; empty: not known"),
    Column("more_count", "uint64", "interruptions in it that are left out here, the smallest"),
    Column("more_ns", "uint64", "net time of those"),
    Column(
        "part", "uint16", "1: the interruption in it that began first, 2: the next one, up to 8"
    ),
    Column("part_start_ns", "uint64", "when that interruption began, CLOCK_MONOTONIC"),
    Column("net_ns", "uint64", "time that it took, excluding nested interruptions"),
    Column("class", TEXT, CLASS_MEANING),
    Column("source", TEXT, SOURCE_MEANING),
    Column("origin", TEXT, ORIGIN_MEANING),
    Column("tid", "uint32", "of a thread the task that ran; else 0"),
    Column("trigger", TEXT, "who caused it; empty: not known"),
)


def _batches(recording: Recording) -> Iterator[Batch]:
    _, worst = summarize_with_worst(recording, WORST_KEPT)
    return batch_of(_COLUMNS, _rows(recording, worst))


def _rows(recording: Recording, worst: tuple[WorstInterruption, ...]) -> Iterator[tuple[Cell, ...]]:
    for rank, one in enumerate(worst, 1):
        interval, victim = one.interval, one.victim_tid
        moment = (
            rank,
            interval.cpu,
            interval.start_ns,
            interval.end_ns,
            interval.noise_ns,
            victim,
            recording.directory.name(victim) if victim else "",
            one.more_count,
            one.more_ns,
        )
        for number, part in enumerate(one.parts, 1):
            about = (number, part.start_ns, part.net_ns, part.source.noise_class)
            whose = (part.source.label, part.origin.label, part.tid, part.trigger.label)
            yield (*moment, *about, *whose)


TABLE = FlatTable(
    "moments", "an interruption in one of the longest intervals of noise", _COLUMNS, _batches
)
