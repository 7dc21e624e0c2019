"""What the hardware and the hypervisor count: steal, throttling, machine checks, NMIs, SMIs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from noisetop.counters.hardware_figures import (
    HardwareFigure,
    brief_line,
    figures_as_dict,
    figures_from,
    hardware_lines,
    instant_figures,
    short_name,
    steal_ns,
)
from noisetop.counters.hardware_totals import (
    HardwareTotals,
    HardwareWatch,
    difference,
    figures_of,
    unavailable_of,
)
from noisetop.counters.section import Brief, CpuFigure, Reader, Section, TraceReadings
from noisetop.events.interruption import HARDWARE as HARDWARE_CLASS
from noisetop.events.interruption import Source
from noisetop.text.column import Column, per_second, show_ns
from noisetop.text.cpu_list import format_cpu_list
from noisetop.text.sanitize import printable


@dataclass(frozen=True, slots=True)
class HardwareCounters:
    """Figures of a period, and what this machine does not offer."""

    figures: tuple[HardwareFigure, ...] = ()
    unavailable: tuple[str, ...] = ()
    """What is not available and why, one line each."""


def _steal_rate(figure: CpuFigure[HardwareCounters]) -> float | None:
    stolen_ns = steal_ns(figure.value.figures, figure.cpu)
    return per_second(stolen_ns, figure.duration_ns) if stolen_ns else None


class HardwareSection(Section[HardwareTotals, HardwareCounters]):
    """Totals of the kernel and of the hardware, and events that take no time."""

    rank = 60
    title = "Hardware and hypervisor counters"
    before_stop = True
    event_class = HARDWARE_CLASS
    columns_lead = True
    cpu_columns: ClassVar[Sequence[Column[CpuFigure[Any]]]] = (
        Column(
            "steal_ns_per_s", "Steal/s", "ns/s", 7, _steal_rate, show_ns,
            "taken by the hypervisor in each second, in coarse steps (see w); not noise",
        ),
    )  # fmt: skip

    def open(self, trace: TraceReadings) -> Reader[HardwareTotals]:
        """Part of Section."""
        watch = HardwareWatch(trace.cpus, trace.housekeeping)
        watch.open()
        return Reader(watch.read, watch.close)

    def between(
        self, before: HardwareTotals, after: HardwareTotals, start_ns: int, end_ns: int
    ) -> HardwareCounters:
        """Part of Section."""
        added = difference(before, after)
        return HardwareCounters(figures_of(added), unavailable_of(added))

    def none(self) -> HardwareCounters:
        """Nothing was read."""
        return HardwareCounters()

    def to_file(self, value: HardwareCounters) -> dict[str, Any]:
        """Part of Section."""
        figures = [asdict(one) for one in value.figures]
        return {"hardware": figures, "hardware_missing": list(value.unavailable)}

    def from_file(self, content: Mapping[str, Any]) -> HardwareCounters:
        """Part of Section."""
        lines = content.get("hardware_missing")
        unavailable = tuple(map(str, lines)) if isinstance(lines, list) else ()
        return HardwareCounters(figures_from(content.get("hardware")), unavailable)

    def with_events(
        self, value: HardwareCounters, counts: Iterable[tuple[int, Source, int]]
    ) -> HardwareCounters:
        """Part of Section."""
        figures = (*value.figures, *instant_figures(counts))
        return HardwareCounters(figures, value.unavailable)

    def as_dict(self, value: HardwareCounters) -> dict[str, object]:
        """Part of Section."""
        return {
            "hardware": figures_as_dict(value.figures),
            "unavailable_hardware": list(value.unavailable),
        }

    def brief(self, value: HardwareCounters, duration_ns: int) -> Brief:
        """Part of Section."""
        return Brief(printable(brief_line(value.figures, duration_ns)))

    def live_lines(self, value: HardwareCounters, duration_ns: int) -> Iterator[str]:
        """Part of Section."""
        if text := brief_line(value.figures, duration_ns):
            yield f"hardware: {printable(text)}"

    def lines(self, value: HardwareCounters, start_ns: int) -> Iterator[str]:
        """Part of Section."""
        yield from map(printable, hardware_lines(value.figures))
        cpus = format_cpu_list(one.cpu for one in value.figures if one.cpu is not None)
        names = [short_name(line, cpus) for line in value.unavailable]
        if names:
            yield printable(f"not available: {', '.join(names)}")


HARDWARE = SECTION = HardwareSection()
