"""What one kind of side figure declares: how it is read, subtracted, stored and shown.

A kind is one module of this package with an instance of its Section in ``SECTION``. Nothing else
names it: the tracer reads all sections, files store them, and every view shows what they offer.
"""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from noisetop import counters
from noisetop.events.interruption import Source
from noisetop.text.column import Column

Raw = TypeVar("Raw")
"""Totals at one moment."""
Value = TypeVar("Value")
"""What a period holds."""


class TraceReadings(Protocol):
    """What a running trace offers to sections. None of it disturbs a watched CPU."""

    @property
    def cpus(self) -> tuple[int, ...]:
        """The watched CPUs."""

    @property
    def housekeeping(self) -> tuple[int, ...]:
        """CPUs for the tool's own threads; empty: none left."""

    @property
    def bpf_ns_per_record(self) -> float | None:
        """Run time of all BPF programs for each record, sampled at the start; None: unknown."""

    def housekeeping_online(self) -> tuple[int, ...]:
        """The housekeeping CPUs that are online now."""

    def cpu_counters(self, field: str, enum: str) -> dict[int, dict[str, int]]:
        """An array of ``struct noise_cpu_counters`` by CPU, its places named by an enum's values
        in lower case; counts since the window began."""

    def totals(self) -> Mapping[str, int]:
        """Totals of the drain thread: records, losses after the rings."""

    def recursion_misses(self) -> int:
        """Hits that the kernel skipped because the same program was running on that CPU."""

    @property
    def left_out(self) -> Any:
        """The noisetop.counters.left_out.LeftOut of the run."""

    @property
    def other_listeners(self) -> Any:
        """The noisetop.counters.other_listeners.OtherListeners of the run."""

    def unavailable(self) -> tuple[str, ...]:
        """Sources that cannot be traced here."""

    def offline_intervals(self) -> tuple[Any, ...]:
        """Every noisetop.counters.offline_cpus.OfflineInterval so far."""

    def isolation_changes(self) -> tuple[Any, ...]:
        """Every noisetop.counters.isolation_changes.IsolationChange so far."""

    @property
    def calibration(self) -> Any:
        """The noisetop.counters.calibration.Calibration of the run, once the window starts."""


@dataclass(slots=True)
class Reader(Generic[Raw]):
    """Reads the totals of one section while a trace runs."""

    read: Callable[[], Raw]
    """Totals as of now."""
    close: Callable[[], None] = lambda: None
    """Gives back what reading held open."""


@dataclass(frozen=True, slots=True)
class Brief:
    """A section in a few words, harmless on a terminal."""

    text: str
    alert: bool = False
    """Whether the other figures cannot be trusted because of it."""


@dataclass(frozen=True, slots=True)
class CpuFigure(Generic[Value]):
    """What a section's column of a CPU is computed from."""

    value: Value
    cpu: int | None
    """None: all watched CPUs together."""
    duration_ns: int


class Section(ABC, Generic[Raw, Value]):
    """One kind of side figure."""

    rank: ClassVar[int]
    """Place among the sections, in files and on screens."""
    title: ClassVar[str] = ""
    """Above ``lines()``."""
    head: ClassVar[str] = ""
    """Name of its row in the head of a report; empty: it has none there."""
    in_status: ClassVar[bool] = False
    """Whether ``brief()`` belongs into the status line of live views."""
    since_start: ClassVar[bool] = False
    """Told since the window began in every period, as a doubt does not go away."""
    before_stop: ClassVar[bool] = False
    """The last reading is made before the window is stopped, not after it."""
    event_class: ClassVar[str] = ""
    """Events of this class take no time and are counted here; empty: none are."""
    cpu_columns: ClassVar[Sequence[Column[CpuFigure[Any]]]] = ()
    """Columns in tables of CPUs; one appears once it has something to show."""

    columns_lead: ClassVar[bool] = False
    """Whether they stand beside the noise of a CPU rather than after its classes."""

    @abstractmethod
    def open(self, trace: TraceReadings) -> Reader[Raw]:
        """Starts to count what nobody counts otherwise. Called before the programs are attached;
        the reader is first used when the window starts."""

    @abstractmethod
    def between(self, before: Raw, after: Raw, start_ns: int, end_ns: int) -> Value:
        """What a period holds, from readings at its two ends (CLOCK_MONOTONIC)."""

    @abstractmethod
    def none(self) -> Value:
        """The value of a period of which nothing is known."""

    def part(self, value: Value, start_ns: int, end_ns: int) -> Value:
        """What is known of a part of a period (CLOCK_MONOTONIC) by the value of the whole."""
        return self.none()

    @abstractmethod
    def to_file(self, value: Value) -> dict[str, Any]:
        """Entries of a recording's metadata, ready for the json module."""

    @abstractmethod
    def from_file(self, content: Mapping[str, Any]) -> Value:
        """Inverse of to_file(); what is absent gives none(). Raises KeyError, TypeError, ValueError
        or AttributeError on what we did not write."""

    def from_cpu_counters(
        self, read: Callable[[str, str], dict[int, dict[str, int]]], cpus: Sequence[int]
    ) -> Value | None:
        """The value of a recording that was cut short, from its last counters of the CPUs, read as
        by TraceReadings.cpu_counters(); None: they do not hold it."""
        return None

    def with_events(self, value: Value, counts: Iterable[tuple[int, Source, int]]) -> Value:
        """The value with events of ``event_class``: CPU, source and how often."""
        return value

    def as_dict(self, value: Value) -> dict[str, object]:
        """Entries of ``--json``; times in ns."""
        return {}

    def cpu_as_dict(self, value: Value, cpu: int) -> dict[str, object]:
        """Entries of one CPU in ``--json``."""
        return {}

    def brief(self, value: Value, duration_ns: int) -> Brief:
        """In one line; empty text: there is nothing to tell."""
        return Brief("")

    def live_lines(self, value: Value, duration_ns: int) -> Iterator[str]:
        """Below the tables of an interval in live text, harmless on a terminal."""
        return iter(())

    def lines(self, value: Value, start_ns: int) -> Iterator[str]:
        """In full, harmless on a terminal; moments are told since ``start_ns``."""
        return iter(())


@cache
def sections() -> tuple[Section[Any, Any], ...]:
    """All sections, by rank."""
    modules = [
        importlib.import_module(f"{counters.__name__}.{module.name}")
        for module in pkgutil.iter_modules(counters.__path__)
    ]
    found = [module.SECTION for module in modules if hasattr(module, "SECTION")]
    return tuple(sorted(found, key=lambda one: (one.rank, type(one).__name__)))


@cache
def event_classes() -> frozenset[str]:
    """Classes of events that take no time and are counted by a section."""
    return frozenset(section.event_class for section in sections() if section.event_class)
