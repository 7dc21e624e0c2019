"""What the machine itself admits to have taken, beside the traced events.

Totals of the kernel and of the hardware, read twice; a figure is the difference. None of these
reads reaches a watched CPU: the files are answered from memory by the CPU that reads them, and the
one hardware counter is opened on a CPU that keeps house. The current frequency is not among them,
because drivers ask the CPU for it with an interrupt (acpi-cpufreq, arm64).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from noisetop.errors import NoisetopError
from noisetop.interrupts import parse_interrupts
from noisetop.smi import SmiCounter
from noisetop.system import ROOT, format_cpu_list, read_text
from noisetop.units import format_ns

_NS_PER_S, _NS_PER_MS = 1_000_000_000, 1_000_000
_STEAL = 7
"""Column of /proc/stat behind user, nice, system, idle, iowait, irq, softirq (proc_stat(5)). The
guest time of the columns behind it is part of user and nice, and no steal."""
_ROW_RANGE = 2**32
"""The counters behind the rows of /proc/interrupts are unsigned int (arch/x86/kernel/irq.c)."""
_NO_EVENT = "exact count; its time is in no event"

ROWS: dict[str, tuple[tuple[str, ...], str]] = {
    "NMI": (("nmi",), "exact count; one NMI may run several handlers"),
    "MCE": (("machine_check", "MCE"), _NO_EVENT),
    "MCP": (("machine_check", "MCP"), "exact count; its time is in mce_timer_fn or threshold_apic"),
    "THR": (("machine_check", "THR"), "exact count; traced as threshold_apic"),
    "DFR": (("machine_check", "DFR"), "exact count; traced as deferred_error_apic"),
    "TRM": (("thermal", "TRM"), "exact count; traced as thermal_apic"),
    "HYP": (("hypervisor", "HYP"), _NO_EVENT),
    "HVS": (("hypervisor", "HVS"), _NO_EVENT),
    "HRE": (("hypervisor", "HRE"), _NO_EVENT),
    "PIN": (("posted_interrupt", "PIN"), _NO_EVENT),
    "PIW": (("posted_interrupt", "PIW"), _NO_EVENT),
    "NPI": (("posted_interrupt", "NPI"), _NO_EVENT),
    "PMN": (("posted_interrupt", "PMN"), _NO_EVENT),
    "VPMI": (("guest_pmi", "VPMI"), _NO_EVENT),
}
"""Rows of /proc/interrupts, with the path behind ``hardware`` and what their count can tell. The
vectors of HYP to VPMI have no tracepoint (arch/x86/include/asm/trace/irq_vectors.h)."""
_ROW_PATHS = frozenset(("hardware", *steps) for steps, _ in ROWS.values())


@dataclass(frozen=True, slots=True)
class HardwareFigure:
    """What happened between two readings; None where the machine does not tell."""

    cpu: int | None
    """None: all of the machine."""
    path: tuple[str, ...]
    ns: int | None
    count: int | None
    resolution: str
    """How fine the figure is and what it leaves out, in words."""

    @property
    def label(self) -> str:
        """The path in one line."""
        return " › ".join(self.path)


@dataclass(frozen=True, slots=True)
class _Absent:
    cpu: int | None
    path: tuple[str, ...]
    why: str


_Reading = dict[tuple[int | None, tuple[str, ...]], HardwareFigure | _Absent]
"""Totals since boot, in the shape of figures."""


@dataclass(slots=True)
class HardwareWatch:
    """Figures of the watched CPUs since the last snapshot; entering takes the first one."""

    cpus: tuple[int, ...]
    house: tuple[int, ...]
    root: Path = ROOT
    _smi: SmiCounter | None = None
    _no_smi: str = ""
    _before: _Reading = field(default_factory=dict)
    _absent: list[_Absent] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._open_smi()
        self.snapshot()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._smi is not None:
            self._smi.close()
            self._smi = None
            self._no_smi = "no longer counted"

    def snapshot(self) -> None:
        """From now on figures count from here."""
        self._before = self._read()
        self._absent = _absent_in(self._before)

    def figures(self) -> tuple[HardwareFigure, ...]:
        """What was added since the snapshot, by path, then by CPU; what is absent is left out."""
        differences: _Reading = {}
        for key, after in self._read().items():
            differences[key] = _difference(self._before.get(key), after)
        self._absent = _absent_in(differences)
        return tuple(one for one in differences.values() if isinstance(one, HardwareFigure))

    def missing(self) -> tuple[str, ...]:
        """What the last reading could not tell, and why, one line each."""
        cpus: dict[tuple[tuple[str, ...], str], list[int]] = {}
        for one in self._absent:
            named = cpus.setdefault((one.path, one.why), [])
            named += [] if one.cpu is None else [one.cpu]
        return tuple(f"{' › '.join(path)}{_on(on)}: {why}" for (path, why), on in cpus.items())

    def _open_smi(self) -> None:
        spare = [cpu for cpu in self.house if cpu not in self.cpus]
        if not spare:
            self._no_smi = "no CPU is left that may be disturbed by counting them"
            return
        try:
            self._smi = SmiCounter(spare[0], self.root)
        except NoisetopError as error:
            self._no_smi = str(error)

    def _read(self) -> _Reading:
        found = [
            *_steal(self.cpus, self.root),
            *_throttling(self.cpus, self.root),
            *_interrupts(self.cpus, self.root),
            self._smis(),
        ]
        return {(one.cpu, one.path): one for one in found}

    def _smis(self) -> HardwareFigure | _Absent:
        path = ("hardware", "smi")
        if self._smi is None:
            return _Absent(None, path, self._no_smi)
        count = self._smi.read()
        if count is None:
            return _Absent(None, path, "the kernel gave up counting")
        return HardwareFigure(None, path, None, count, "exact count; each stops all CPUs")


def _absent_in(reading: _Reading) -> list[_Absent]:
    return [one for one in reading.values() if isinstance(one, _Absent)]


def _on(cpus: list[int]) -> str:
    return f" on CPU {format_cpu_list(cpus)}" if cpus else ""


def _steal(cpus: Iterable[int], root: Path) -> Iterator[HardwareFigure | _Absent]:
    tick_ns = _NS_PER_S // os.sysconf("SC_CLK_TCK")
    words = f"steps of {format_ns(tick_ns)}; 0 also where the hypervisor does not tell"
    lines = re.findall(r"(?m)^cpu([0-9]{1,5}) (.*)$", read_text(root / "proc/stat"))
    ticks = {int(cpu): values.split() for cpu, values in lines}
    path = ("hardware", "steal")
    for cpu in cpus:
        columns = ticks.get(cpu, [])
        stolen = _number(columns[_STEAL]) if len(columns) > _STEAL else None
        if stolen is None:
            yield _Absent(cpu, path, "/proc/stat does not show it")
        else:
            yield HardwareFigure(cpu, path, stolen * tick_ns, None, words)


def _throttling(cpus: Iterable[int], root: Path) -> Iterator[HardwareFigure | _Absent]:
    """Episodes of less clock because of heat (drivers/thermal/intel/therm_throt.c)."""
    for unit in ("core", "package"):
        path = ("hardware", "throttle", unit)
        for cpu in cpus:
            files = root / f"sys/devices/system/cpu/cpu{cpu}/thermal_throttle"
            count = _number(read_text(files / f"{unit}_throttle_count"))
            slow_ms = _number(read_text(files / f"{unit}_throttle_total_time_ms"))
            if count is None:
                yield _Absent(cpu, path, f"thermal_throttle/{unit}_throttle_count is absent")
                continue
            words = "exact count; the CPU runs on, slower"
            if slow_ms is not None:
                words += "; time in jiffies, added when an episode ends"
            slow_ns = None if slow_ms is None else slow_ms * _NS_PER_MS
            yield HardwareFigure(cpu, path, slow_ns, count, words)


def _interrupts(cpus: Iterable[int], root: Path) -> Iterator[HardwareFigure | _Absent]:
    table = parse_interrupts(read_text(root / "proc/interrupts"))
    for row, (steps, words) in ROWS.items():
        path = ("hardware", *steps)
        for cpu in cpus:
            count = table.get(row, {}).get(cpu)
            if count is None:
                yield _Absent(cpu, path, f"/proc/interrupts has no {row} there")
            else:
                yield HardwareFigure(cpu, path, None, count, words)


def _number(text: str) -> int | None:
    return int(text) if re.fullmatch("[0-9]{1,20}", text) else None


def _difference(
    before: HardwareFigure | _Absent | None, after: HardwareFigure | _Absent
) -> HardwareFigure | _Absent:
    """What was added; absent when one of the two is, or when a total shrank."""
    if isinstance(after, _Absent):
        return after
    if not isinstance(before, HardwareFigure):
        return _Absent(after.cpu, after.path, "was not there when counting began")
    ns, count = _added(before.ns, after.ns), _added(before.count, after.count)
    if count is not None and after.path in _ROW_PATHS:
        # The nearer way round: a wrap adds, a total that shrank stays below zero.
        count = (count + _ROW_RANGE // 2) % _ROW_RANGE - _ROW_RANGE // 2
    if (ns or 0) < 0 or (count or 0) < 0:
        return _Absent(after.cpu, after.path, "the kernel's total went backwards")
    return HardwareFigure(after.cpu, after.path, ns, count, after.resolution)


def _added(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before


def hardware_lines(figures: Iterable[HardwareFigure]) -> list[str]:
    """A line for each figure above zero, then those that stayed at zero, a line per set of CPUs.

    All words are ours or from ROWS, none from the kernel.
    """
    figures = tuple(figures)
    rows = [
        (
            one.label,
            "all CPUs" if one.cpu is None else f"CPU {one.cpu}",
            _amount(one),
            one.resolution,
        )
        for one in figures
        if one.ns or one.count
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        f"{label:<{widths[0]}}  {where:<{widths[1]}}  {amount:>{widths[2]}}  {words}"
        for label, where, amount, words in rows
    ]
    return lines + _quiet_lines(figures)


def _quiet_lines(figures: Iterable[HardwareFigure]) -> list[str]:
    cpus: dict[str, list[int]] = {}
    for one in figures:
        if not one.ns and not one.count:
            quiet = cpus.setdefault(" › ".join(one.path[1:]), [])
            quiet += [] if one.cpu is None else [one.cpu]
    names: dict[str, list[str]] = {}
    for name, on in cpus.items():
        names.setdefault(format_cpu_list(on), []).append(name)
    return [
        f"none on {f'CPU {on}' if on else 'all CPUs'}: {', '.join(quiet)}"
        for on, quiet in names.items()
    ]


def _amount(figure: HardwareFigure) -> str:
    """Time, count or both; counts in full, because they are exact."""
    parts = [] if figure.ns is None else [format_ns(figure.ns)]
    if figure.count is not None:
        parts.append(f"{figure.count} {'time' if figure.count == 1 else 'times'}")
    return ", ".join(parts)


def figures_from(rows: object) -> tuple[HardwareFigure, ...]:
    """Figures as a recording holds them; what is no figure is passed over."""
    figures = []
    for row in rows if isinstance(rows, list) else []:
        if not isinstance(row, dict):
            continue
        cpu, path, ns, count = (row.get(key) for key in ("cpu", "path", "ns", "count"))
        numbers = all(number is None or isinstance(number, int) for number in (cpu, ns, count))
        if numbers and isinstance(path, list) and path:
            words = str(row.get("resolution", ""))
            figures.append(HardwareFigure(cpu, tuple(map(str, path)), ns, count, words))
    return tuple(figures)


def figures_as_dict(figures: Iterable[HardwareFigure]) -> dict[str, object]:
    """Figures by CPU and those of the whole machine, ready for the json module; times in ns."""
    machine: list[dict[str, object]] = []
    cpus: dict[str, list[dict[str, object]]] = {}
    for one in figures:
        place = machine if one.cpu is None else cpus.setdefault(str(one.cpu), [])
        place.append(
            {
                "path": list(one.path),
                "ns": one.ns,
                "count": one.count,
                "resolution": one.resolution,
            }
        )
    return {"cpus": cpus, "machine": machine}
