"""The side figures of one period, all kinds as one value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from noisetop.counters.section import Brief, Reader, Section, TraceReadings, sections
from noisetop.events.interruption import Source

Value = TypeVar("Value")

Totals = Mapping[Section[Any, Any], Any]
"""Totals of every section at one moment."""


@dataclass(frozen=True, slots=True)
class PeriodCounters:
    """A value for each section; what is not known is the section's none()."""

    _values: Mapping[Section[Any, Any], Any] = field(default_factory=dict)

    def of(self, section: Section[Any, Value]) -> Value:
        """The value of one section."""
        value: Value = self._values[section] if section in self._values else section.none()
        return value

    def with_value(self, section: Section[Any, Value], value: Value) -> PeriodCounters:
        """The same with another value of one section."""
        return PeriodCounters({**self._values, section: value})

    def with_events(self, counts: Iterable[tuple[int, Source, int]]) -> PeriodCounters:
        """The same with events that take no time: CPU, source and how often."""
        by_class: dict[str, list[tuple[int, Source, int]]] = {}
        for cpu, source, count in counts:
            by_class.setdefault(source.noise_class, []).append((cpu, source, count))
        result = self
        for section in sections():
            if events := by_class.get(section.event_class):
                result = result.with_value(section, section.with_events(result.of(section), events))
        return result

    def part(self, start_ns: int, end_ns: int) -> PeriodCounters:
        """Of a part of the period: what is not known of that is left out."""
        return PeriodCounters({one: one.part(self.of(one), start_ns, end_ns) for one in sections()})

    def __eq__(self, other: object) -> bool:
        """Equal when every section has the same value."""
        if not isinstance(other, PeriodCounters):
            return NotImplemented
        return all(self.of(section) == other.of(section) for section in sections())

    __hash__ = None  # type: ignore[assignment]

    def status(self, duration_ns: int) -> list[Brief]:
        """What every view shows beside its figures: losses so far, CPUs that were offline."""
        briefs = [one.brief(self.of(one), duration_ns) for one in sections() if one.in_status]
        return [brief for brief in briefs if brief.text]

    def to_file(self) -> dict[str, Any]:
        """Ready for the json module; counters_from_file() is its inverse."""
        content: dict[str, Any] = {}
        for section in sections():
            content |= section.to_file(self.of(section))
        return content

    def as_dict(self) -> dict[str, object]:
        """As ``--json`` shows it."""
        content: dict[str, object] = {}
        for section in sections():
            content |= section.as_dict(self.of(section))
        return content

    def cpu_as_dict(self, cpu: int) -> dict[str, object]:
        """As ``--json`` shows it of one CPU."""
        content: dict[str, object] = {}
        for section in sections():
            content |= section.cpu_as_dict(self.of(section), cpu)
        return content


def counters_from_file(content: Mapping[str, Any]) -> PeriodCounters:
    """Raises KeyError, TypeError, ValueError or AttributeError on what we did not write."""
    return PeriodCounters({section: section.from_file(content) for section in sections()})


def counters_cut_short(
    content: Mapping[str, Any],
    read: Callable[[str, str], dict[int, dict[str, int]]],
    cpus: Sequence[int],
) -> PeriodCounters:
    """Of a recording that was cut short: what it holds by then, and the last counters of its CPUs
    that ``read`` gives as TraceReadings.cpu_counters() does. Raises as counters_from_file()."""
    values = {}
    for section in sections():
        counted = section.from_cpu_counters(read, cpus)
        values[section] = section.from_file(content) if counted is None else counted
    return PeriodCounters(values)


@dataclass(slots=True)
class CountersWatch:
    """Reads all sections of a running trace, from the start of its window to the end."""

    _readers: dict[Section[Any, Any], Reader[Any]] = field(default_factory=dict)
    _start: Totals = field(default_factory=dict)
    _end: dict[Section[Any, Any], Any] = field(default_factory=dict)
    _stopped: bool = False

    def open(self, trace: TraceReadings) -> None:
        """Before the programs are attached."""
        for section in sections():
            self._readers[section] = section.open(trace)

    def start(self) -> None:
        """The window has started."""
        self._start = self._read()

    def about_to_stop(self) -> None:
        """The window is going to be stopped."""
        self._end = {
            section: reader.read()
            for section, reader in self._readers.items()
            if section.before_stop
        }

    def stop(self) -> None:
        """The window was stopped; later readings are that of this moment."""
        self._end |= {
            section: reader.read()
            for section, reader in self._readers.items()
            if not section.before_stop
        }
        self._stopped = True

    def close(self) -> None:
        """Gives back what reading held open."""
        for reader in self._readers.values():
            reader.close()
        self._readers = {}

    def _read(self) -> Totals:
        return {section: reader.read() for section, reader in self._readers.items()}

    @property
    def at_start(self) -> Totals:
        """When the window started."""
        return self._start

    def read(self) -> Totals:
        """As of now, or of the end of the window."""
        return self._end if self._stopped else self._read()

    def between(self, before: Totals, after: Totals, start_ns: int, end_ns: int) -> PeriodCounters:
        """What a period holds, from readings at its two ends."""
        return PeriodCounters(
            {
                section: section.between(
                    self._start[section] if section.since_start else before[section],
                    after[section],
                    start_ns,
                    end_ns,
                )
                for section in after
            }
        )
