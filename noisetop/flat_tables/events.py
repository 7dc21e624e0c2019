"""The table of all events: interruptions, and what is recorded beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from noisetop.events.interruption import SIDE_LEVEL, Flag, Interruptions
from noisetop.events.origin import ORIGINS
from noisetop.flat_tables.kinds import (
    CLASS_MEANING,
    IDLE,
    KIND_MEANING,
    KINDS,
    NOISE,
    ORIGIN_MEANING,
    SIDE,
    SOURCE_MEANING,
)
from noisetop.flat_tables.schema import BOOL, TEXT, Batch, Column, FlatTable, Texts, texts
from noisetop.recording.prefetch import read_ahead
from noisetop.recording.recording import Recording
from noisetop.tables.rows import joined

_ROWS = 1 << 17
_NO_CPU = -1
_MOST_NUMBERS = 1 << 22
"""Thread IDs are smaller; sorting them takes three times as long as looking them up."""
_MOST_PER_ROW = 64
"""In a short table sorting is faster, and a damaged file can hold any number."""

_COLUMNS = (
    Column("start_ns", "uint64", "when it began, CLOCK_MONOTONIC"),
    Column("gross_ns", "uint64", "end minus start"),
    Column("net_ns", "uint64", "time that it took, excluding nested interruptions"),
    Column("cpu", "uint16", "where it ran"),
    Column("kind", TEXT, KIND_MEANING),
    Column("class", TEXT, CLASS_MEANING),
    Column("source", TEXT, SOURCE_MEANING),
    Column("origin", TEXT, ORIGIN_MEANING),
    Column("victim_tid", "uint32", "thread that lost the time; 0: the CPU was idle"),
    Column("victim", TEXT, "its name; empty: not known"),
    Column("tid", "uint32", "task that was current; of a thread the one that ran"),
    Column("task", TEXT, "its name; empty: not known"),
    Column("trigger", TEXT, "who caused it; empty: not known"),
    Column("trigger_tid", "uint32", "task that caused it; 0: no task, or not known"),
    Column("trigger_cpu", "uint16", "where it was caused", nullable=True),
    Column("trigger_ns", "uint64", "when it was caused, CLOCK_MONOTONIC", nullable=True),
    Column("level", "uint8", "context: the higher one interrupts the lower; 8: of kind `side`"),
    Column("outermost", BOOL, "whether it interrupted a task, and no other interruption"),
    Column("entry", BOOL, "whether it carries the cost of entering the kernel or of a switch"),
    Column("cold", BOOL, "whether that entry follows a time in which nothing entered the kernel"),
)


def _batches(recording: Recording) -> Iterator[Batch]:
    # Names are looked up by the thread that reads, so that they do not depend on how far it is.
    return read_ahead(_read(recording))


def _read(recording: Recording) -> Iterator[Batch]:
    waiting: list[Interruptions] = []
    for chunk in recording.all_chunks():
        waiting.append(chunk)
        if sum(map(len, waiting)) >= _ROWS:
            yield from _cut(joined(waiting), recording)
            waiting = []
    if waiting:
        yield from _cut(joined(waiting), recording)


def _cut(table: Interruptions, recording: Recording) -> Iterator[Batch]:
    for first in range(0, len(table), _ROWS):
        yield _batch(table[first : first + _ROWS], recording)


def _batch(table: Interruptions, recording: Recording) -> Batch:
    sources, triggers = recording.sources, recording.triggers
    ran = _numbered(table["source"])
    caused = _numbered(table["trigger"])
    kinds = np.where(table["victim_tid"] == 0, KINDS.index(IDLE), KINDS.index(NOISE))
    kinds[table["level"] == SIDE_LEVEL] = KINDS.index(SIDE)
    name = recording.directory.name
    values: Batch = {
        "kind": Texts(kinds.astype(np.int64), list(KINDS)),
        "class": _texts(ran, lambda number: sources[number].noise_class),
        "source": _texts(ran, lambda number: sources[number].label),
        "origin": Texts(table["origin"].astype(np.int64), list(ORIGINS)),
        "victim": _texts(_numbered(table["victim_tid"]), lambda tid: name(tid) if tid else ""),
        "task": _texts(_numbered(table["tid"]), lambda tid: name(tid) if tid else ""),
        "trigger": _texts(caused, lambda number: triggers[number].label),
        "trigger_tid": _numbers(caused, lambda number: triggers[number].tid, np.uint32),
        "trigger_cpu": _known_cpus(_numbers(caused, lambda one: triggers[one].cpu, np.int64)),
        "trigger_ns": np.ma.MaskedArray(table["trigger_ns"], table["trigger_ns"] == 0),
        "outermost": Flag.OUTERMOST.among(table["flags"]),
        "entry": Flag.ENTRY.among(table["flags"]),
        "cold": Flag.COLD.among(table["flags"]),
    }
    return {
        column.name: values[column.name] if column.name in values else table[column.name]
        for column in _COLUMNS
    }


_Numbered = tuple[list[int], npt.NDArray[np.int64]]
"""Distinct numbers, and of each row which of them it has."""


def _numbered(column: npt.NDArray[np.unsignedinteger]) -> _Numbered:
    size = int(column.max()) + 1 if len(column) else 0
    if size > min(_MOST_NUMBERS, _MOST_PER_ROW * len(column)):
        distinct, places = np.unique(column, return_inverse=True)
        return distinct.tolist(), places
    occurs = np.zeros(size, bool)
    occurs[column] = True
    return np.flatnonzero(occurs).tolist(), (np.cumsum(occurs) - 1).take(column)


def _texts(numbered: _Numbered, text_of: Callable[[int], str]) -> Texts:
    distinct, places = numbered
    of_distinct = texts(map(text_of, distinct))
    return Texts(of_distinct.numbers[places], of_distinct.values)


def _numbers(
    numbered: _Numbered, number_of: Callable[[int], int], kind: npt.DTypeLike
) -> npt.NDArray[np.generic]:
    distinct, places = numbered
    return np.array([number_of(number) for number in distinct], kind)[places]


def _known_cpus(cpus: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    unknown = cpus == _NO_CPU
    return np.ma.MaskedArray(np.where(unknown, 0, cpus).astype(np.uint16), unknown)


TABLE = FlatTable("events", "an interruption, or what is recorded beside them", _COLUMNS, _batches)
