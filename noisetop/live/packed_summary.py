"""A summary as bytes: a twentieth of its size, and a size that is known exactly."""

from __future__ import annotations

import io
import pickle
import zlib
from collections.abc import Callable, Sequence
from copyreg import dispatch_table
from dataclasses import fields, is_dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from noisetop.counters.section import Section, sections
from noisetop.events.task_directory import TaskDirectory
from noisetop.summary.summary import CpuSummary, SourceSummary, Summary
from noisetop.tables.histogram import Counts

_LEVEL = 1
"""Of compression; more takes longer and saves little."""
Reduced = tuple[Callable[..., object], tuple[Any, ...]]


def packed(summary: Summary) -> bytes:
    """All of it but ``directory``, which belongs to the trace."""
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer, pickle.HIGHEST_PROTOCOL)
    pickler.dispatch_table = _REDUCERS
    pickler.dump(replace(summary, directory=_NOBODY))
    return zlib.compress(buffer.getvalue(), _LEVEL)


def unpacked(content: bytes) -> Summary:
    """The summary, of bytes that packed() made in this process; with an empty ``directory``."""
    summary: Summary = pickle.loads(zlib.decompress(content))
    return summary


class _Reducers(dict[type, Callable[[Any], Any]]):
    """By type, how its values become bytes."""

    def __missing__(self, cls: type) -> Callable[[Any], Reduced]:
        """Of a type that is met for the first time."""
        if issubclass(cls, Section):
            self[cls] = lambda one: (_section, (type(one).__name__,))
        elif is_dataclass(cls):
            self[cls] = _by_fields(cls)
        elif issubclass(cls, tuple):
            self[cls] = lambda one: (cls, tuple(one))
        else:
            raise KeyError(cls)  # pickle knows it
        return self[cls]


def _by_fields(cls: type) -> Callable[[Any], Reduced]:
    """A fifth of the time that a dataclass with slots takes by itself."""
    names = [one.name for one in fields(cls)]
    if not names:
        return lambda _: (cls, ())
    values = attrgetter(*names)
    return lambda one: (cls, values(one) if len(names) > 1 else (values(one),))


def _by_columns(cpu: CpuSummary) -> Reduced:
    """Sources are most of a summary, and a field of all of them takes less than all of each."""
    columns = tuple(zip(*map(_SOURCE_FIELDS, cpu.sources), strict=True))
    return _cpu, (columns, *_CPU_FIELDS(cpu))


def _cpu(columns: Sequence[Sequence[Any]], *others: Any) -> CpuSummary:
    sources = tuple(SourceSummary(*row) for row in zip(*columns, strict=True))
    return CpuSummary(sources=sources, **dict(zip(_CPU_NAMES, others, strict=True)))


def _section(name: str) -> Section[Any, Any]:
    """There is one of each, and what it counts is found by it."""
    return next(one for one in sections() if type(one).__name__ == name)


def _histogram(counts: npt.NDArray[Any]) -> Any:
    """Most buckets are empty."""
    if counts.dtype != np.int64 or counts.ndim != 1:
        return counts.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
    places = np.flatnonzero(counts)
    return _counts, (len(counts), places.tobytes(), counts[places].tobytes())


def _counts(length: int, places: bytes, counts: bytes) -> Counts:
    found = np.zeros(length, np.int64)
    found[np.frombuffer(places, np.intp)] = np.frombuffer(counts, np.int64)
    return found


_CPU_NAMES = [one.name for one in fields(CpuSummary) if one.name != "sources"]
_CPU_FIELDS = attrgetter(*_CPU_NAMES)
_SOURCE_FIELDS = attrgetter(*(one.name for one in fields(SourceSummary)))
_NOBODY = TaskDirectory()
_REDUCERS = _Reducers(dispatch_table)
_REDUCERS[np.ndarray] = _histogram
_REDUCERS[CpuSummary] = _by_columns
