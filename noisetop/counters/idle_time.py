"""How long each CPU had nothing to run, by the kernel's own accounting of time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from noisetop.counters.section import CpuFigure, Reader, Section, TraceReadings
from noisetop.machine.stolen_time import NS_PER_TICK, cpu_ticks
from noisetop.machine.system import ROOT, read_text
from noisetop.text.column import Column, number, percent
from noisetop.text.units import format_ns

_IDLE, _IOWAIT = 3, 4
"""Columns of /proc/stat behind user, nice, system (proc_stat(5))."""


@dataclass(frozen=True, slots=True)
class IdleTime:
    """Of one CPU, in steps of a tick of user space."""

    idle_ns: int
    iowait_ns: int
    """Idle while a task that ran there last waited for I/O."""

    @property
    def sum_ns(self) -> int:
        """All the time in which nothing ran."""
        return self.idle_ns + self.iowait_ns


IdleByCpu = Mapping[int, IdleTime]


def _share(figure: CpuFigure[IdleByCpu]) -> float | None:
    """In percent of the period; None where the kernel does not say."""
    chosen = [one for cpu, one in figure.value.items() if figure.cpu in (None, cpu)]
    if not chosen:
        return None
    return percent(sum(one.sum_ns for one in chosen), figure.duration_ns * len(chosen))


class IdleTimeSection(Section[IdleByCpu, IdleByCpu]):
    """Read from /proc/stat, which is answered from memory."""

    rank = 70
    title = "Idle time, by the kernel's accounting"
    cpu_columns: ClassVar[Sequence[Column[CpuFigure[Any]]]] = (
        Column(
            "idle_percent", "Unused %", "%", 8, _share, lambda value: f"{number(value):.1f}",
            "how much of the time the CPU had nothing to run, in coarse steps",
        ),
    )  # fmt: skip

    def open(self, trace: TraceReadings) -> Reader[IdleByCpu]:
        """Part of Section."""

        def read() -> IdleByCpu:
            rows = cpu_ticks(read_text(ROOT / "proc/stat"))
            return {
                cpu: IdleTime(rows[cpu][_IDLE] * NS_PER_TICK, rows[cpu][_IOWAIT] * NS_PER_TICK)
                for cpu in trace.cpus
                if len(rows.get(cpu, ())) > _IOWAIT
            }

        return Reader(read)

    def between(self, before: IdleByCpu, after: IdleByCpu, start_ns: int, end_ns: int) -> IdleByCpu:
        """Part of Section. The kernel's sum of I/O wait may go back, a period's does not."""
        return {
            cpu: IdleTime(
                max(now.idle_ns - before[cpu].idle_ns, 0),
                max(now.iowait_ns - before[cpu].iowait_ns, 0),
            )
            for cpu, now in after.items()
            if cpu in before
        }

    def none(self) -> IdleByCpu:
        """Not read."""
        return {}

    def to_file(self, value: IdleByCpu) -> dict[str, Any]:
        """Part of Section."""
        return {"idle_time": {str(cpu): asdict(one) for cpu, one in value.items()}}

    def from_file(self, content: Mapping[str, Any]) -> IdleByCpu:
        """Part of Section."""
        return {
            int(cpu): IdleTime(int(one["idle_ns"]), int(one["iowait_ns"]))
            for cpu, one in content.get("idle_time", {}).items()
        }

    def cpu_as_dict(self, value: IdleByCpu, cpu: int) -> dict[str, object]:
        """Part of Section."""
        return {"idle_time": asdict(value[cpu]) if cpu in value else None}

    def lines(self, value: IdleByCpu, start_ns: int) -> Iterator[str]:
        """Part of Section."""
        for cpu, one in value.items():
            waiting = f", {format_ns(one.iowait_ns)} of it for I/O" if one.iowait_ns else ""
            yield f"CPU {cpu}: nothing to run for {format_ns(one.sum_ns)}{waiting}"


IDLE_TIME = SECTION = IdleTimeSection()
