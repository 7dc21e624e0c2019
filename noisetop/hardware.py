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
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from noisetop.errors import NoisetopError
from noisetop.hardware_figures import STEAL, HardwareFigure
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
class _Absent:
    cpu: int | None
    path: tuple[str, ...]
    why: str


Reading = dict[tuple[int | None, tuple[str, ...]], HardwareFigure | _Absent]
"""Totals since boot, in the shape of figures."""


@dataclass(slots=True)
class HardwareWatch:
    """Figures of the watched CPUs since the last snapshot; entering takes the first one."""

    cpus: tuple[int, ...]
    house: tuple[int, ...]
    root: Path = ROOT
    _smi: SmiCounter | None = None
    _no_smi: str = ""
    _before: Reading = field(default_factory=dict)
    _differences: Reading = field(default_factory=dict)

    def __enter__(self) -> Self:
        self.open()
        self.snapshot()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the counting of what only counts while somebody asks for it."""
        if self._smi is not None:
            self._smi.close()
            self._smi = None
            self._no_smi = "no longer counted"

    def snapshot(self) -> None:
        """From now on figures count from here."""
        self._before = self.read()
        self._differences = self._before

    def figures(self) -> tuple[HardwareFigure, ...]:
        """What was added since the snapshot, by path, then by CPU; what is absent is left out."""
        self._differences = difference(self._before, self.read())
        return figures_of(self._differences)

    def missing(self) -> tuple[str, ...]:
        """What the last reading could not tell, and why, one line each."""
        return missing_of(self._differences)

    def open(self) -> None:
        """Begins to count what nobody counts otherwise."""
        spare = [cpu for cpu in self.house if cpu not in self.cpus]
        if not spare:
            self._no_smi = "no CPU is left that may be disturbed by counting them"
            return
        try:
            self._smi = SmiCounter(spare[0], self.root)
        except NoisetopError as error:
            self._no_smi = str(error)

    def read(self) -> Reading:
        """The totals as of now."""
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


def difference(before: Reading, after: Reading) -> Reading:
    """What was added between two readings."""
    return {key: _difference(before.get(key), one) for key, one in after.items()}


def figures_of(differences: Reading) -> tuple[HardwareFigure, ...]:
    """The figures, by path, then by CPU; what is absent is left out."""
    return tuple(one for one in differences.values() if isinstance(one, HardwareFigure))


def missing_of(differences: Reading) -> tuple[str, ...]:
    """What is absent, and why, one line each."""
    cpus: dict[tuple[tuple[str, ...], str], list[int]] = {}
    for one in differences.values():
        if isinstance(one, _Absent):
            named = cpus.setdefault((one.path, one.why), [])
            named += [] if one.cpu is None else [one.cpu]
    return tuple(f"{' › '.join(path)}{_on(on)}: {why}" for (path, why), on in cpus.items())


def _on(cpus: list[int]) -> str:
    return f" on CPU {format_cpu_list(cpus)}" if cpus else ""


def _steal(cpus: Iterable[int], root: Path) -> Iterator[HardwareFigure | _Absent]:
    tick_ns = _NS_PER_S // os.sysconf("SC_CLK_TCK")
    words = f"steps of {format_ns(tick_ns)}; 0 also where the hypervisor does not tell"
    lines = re.findall(r"(?m)^cpu([0-9]{1,5}) (.*)$", read_text(root / "proc/stat"))
    ticks = {int(cpu): values.split() for cpu, values in lines}
    for cpu in cpus:
        columns = ticks.get(cpu, [])
        stolen = _number(columns[_STEAL]) if len(columns) > _STEAL else None
        if stolen is None:
            yield _Absent(cpu, STEAL, "/proc/stat does not show it")
        else:
            yield HardwareFigure(cpu, STEAL, stolen * tick_ns, None, words, tick_ns)


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
    return replace(after, ns=ns, count=count)


def _added(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before
