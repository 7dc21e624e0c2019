"""Hardware and hypervisor counters, beside the traced events.

Totals of the kernel and of the hardware, read twice; a figure is the difference. None of these
reads reaches a watched CPU: the files are answered from memory by the CPU that reads them, and the
one hardware counter is opened on a housekeeping CPU. The current frequency is not among them,
because drivers ask the CPU for it with an interrupt (acpi-cpufreq, arm64).
"""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from noisetop.counters.hardware_figures import STEAL, HardwareFigure
from noisetop.errors import NoisetopError
from noisetop.machine.cpu_vendor import AMD, CENTAUR, HYGON, INTEL, ZHAOXIN, cpu_vendor
from noisetop.machine.proc_interrupts import parse_interrupts
from noisetop.machine.smi import SmiCounter
from noisetop.machine.stolen_time import NS_PER_TICK, read_steal_ticks
from noisetop.machine.system import ROOT, read_text, reader
from noisetop.text.cpu_list import format_cpu_list
from noisetop.text.units import format_ns

_NS_PER_MS = 1_000_000
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
"""Rows of /proc/interrupts, with the path behind ``hardware`` and how exact their count is. The
vectors of HYP to VPMI have no tracepoint (arch/x86/include/asm/trace/irq_vectors.h)."""
_ROW_PATHS = frozenset(("hardware", *steps) for steps, _ in ROWS.values())
_SHOWN_IF_USED = frozenset({"HYP", "HVS", "HRE"})
"""Rows that the kernel shows where it runs on the hypervisor that sends these interrupts."""

_INTEL_KIND = frozenset({INTEL, CENTAUR, ZHAOXIN})
"""Vendors whose CPUs the kernel sets up Intel's thermal interrupt for (arch/x86/kernel/cpu)."""
_ONLY_OF = {
    "DFR": frozenset({AMD, HYGON}),
    "TRM": _INTEL_KIND,
    "PIN": frozenset({INTEL}),
    "PIW": frozenset({INTEL}),
    "NPI": frozenset({INTEL}),
    "PMN": frozenset({INTEL}),
}
"""Vendors whose CPUs take what such a row counts; other rows are of all of x86."""


@dataclass(frozen=True, slots=True)
class _Absent:
    cpu: int | None
    path: tuple[str, ...]
    why: str


HardwareTotals = dict[tuple[int | None, tuple[str, ...]], HardwareFigure | _Absent]
"""Totals since boot, in the shape of figures."""


@dataclass(slots=True)
class HardwareWatch:
    """Reads the totals of the watched CPUs; between open() and close() those of SMIs, too."""

    cpus: tuple[int, ...]
    housekeeping: tuple[int, ...]
    root: Path = ROOT
    _smi: SmiCounter | None = None
    _no_smi: str = ""
    _vendor: str = ""

    def close(self) -> None:
        """Ends the counting of what only counts while somebody asks for it."""
        if self._smi is not None:
            self._smi.close()
            self._smi = None
            self._no_smi = "no longer counted"

    def open(self) -> None:
        """Starts the counter of SMIs where the machine has one, on a housekeeping CPU."""
        self._vendor = cpu_vendor(reader(self.root))
        spare = [cpu for cpu in self.housekeeping if cpu not in self.cpus]
        if not spare:
            self._no_smi = "no housekeeping CPU is left to count them on"
            return
        try:
            self._smi = SmiCounter(spare[0], self.root)
        except NoisetopError as error:
            self._no_smi = str(error)

    def read(self) -> HardwareTotals:
        """The totals as of now; what is absent is left out where such a CPU cannot have it."""
        found = [
            *_steal(self.cpus, self.root),
            *_throttling(self.cpus, self.root, possible=self._can_be(_INTEL_KIND)),
            *self._interrupts(),
            *self._smis(),
        ]
        return {(one.cpu, one.path): one for one in found}

    def _can_be(self, vendors: frozenset[str]) -> bool:
        """Whether this machine may be of one of these x86 vendors; no vendor: any of them."""
        is_x86 = platform.machine() == "x86_64"
        return is_x86 and (not (vendors and self._vendor) or self._vendor in vendors)

    def _interrupts(self) -> Iterator[HardwareFigure | _Absent]:
        table = parse_interrupts(read_text(self.root / "proc/interrupts"))
        for row, (steps, words) in ROWS.items():
            path = ("hardware", *steps)
            possible = row not in _SHOWN_IF_USED and self._can_be(_ONLY_OF.get(row, frozenset()))
            for cpu in self.cpus:
                count = table.get(row, {}).get(cpu)
                if count is not None:
                    yield HardwareFigure(cpu, path, None, count, words)
                elif possible or row in table:
                    yield _Absent(cpu, path, f"/proc/interrupts has no {row} there")

    def _smis(self) -> Iterator[HardwareFigure | _Absent]:
        path = ("hardware", "smi")
        if self._smi is None:
            if self._can_be(frozenset({INTEL})):
                yield _Absent(None, path, self._no_smi)
            return
        count = self._smi.read()
        if count is None:
            yield _Absent(None, path, "the kernel gave up counting")
        else:
            yield HardwareFigure(None, path, None, count, "exact count; each stops all CPUs")


def difference(before: HardwareTotals, after: HardwareTotals) -> HardwareTotals:
    """What was added between two readings."""
    return {key: _difference(before.get(key), one) for key, one in after.items()}


def figures_of(differences: HardwareTotals) -> tuple[HardwareFigure, ...]:
    """The figures, by path, then by CPU; what is absent is left out."""
    return tuple(one for one in differences.values() if isinstance(one, HardwareFigure))


def unavailable_of(differences: HardwareTotals) -> tuple[str, ...]:
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
    words = f"steps of {format_ns(NS_PER_TICK)}; 0 also where the hypervisor does not report it"
    ticks = read_steal_ticks(root)
    for cpu in cpus:
        if cpu in ticks:
            stolen_ns = ticks[cpu] * NS_PER_TICK
            yield HardwareFigure(cpu, STEAL, stolen_ns, None, words, NS_PER_TICK)
        else:
            yield _Absent(cpu, STEAL, "/proc/stat does not show it")


def _throttling(
    cpus: Iterable[int], root: Path, *, possible: bool
) -> Iterator[HardwareFigure | _Absent]:
    """Episodes of less clock because of heat (drivers/thermal/intel/therm_throt.c)."""
    for unit in ("core", "package"):
        path = ("hardware", "throttle", unit)
        for cpu in cpus:
            files = root / f"sys/devices/system/cpu/cpu{cpu}/thermal_throttle"
            count = _number(read_text(files / f"{unit}_throttle_count"))
            slow_ms = _number(read_text(files / f"{unit}_throttle_total_time_ms"))
            if count is None:
                if possible:
                    yield _Absent(cpu, path, f"thermal_throttle/{unit}_throttle_count is absent")
                continue
            words = "exact count; the CPU runs on, slower"
            if slow_ms is not None:
                words += "; time in jiffies, added when an episode ends"
            slow_ns = None if slow_ms is None else slow_ms * _NS_PER_MS
            yield HardwareFigure(cpu, path, slow_ns, count, words)


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
