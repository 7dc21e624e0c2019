"""What /proc counts on the watched CPUs: all that can be said without tracing."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from noisetop.system import ROOT, read_text

_SMI_COUNT_MSR = 0x34  # Intel SDM volume 4, MSR_SMI_COUNT
_NOT_ENTRIES = frozenset({"TLB", "RTR", "MCP", "PMI"})
"""Rows of /proc/interrupts that count no entry of their own: function calls for TLB flushes are in
CAL, too, retries and polls are no interrupts, and PMIs come as NMIs (arch/x86/kernel/irq.c)."""


@dataclass(frozen=True, slots=True)
class Entries:
    """How often each CPU was interrupted up to a moment between two readings of the clock."""

    since_ns: int
    until_ns: int
    counts: dict[int, int]
    """By CPU: all interrupts but NMIs."""


def read_entries(cpus: Iterable[int], root: Path = ROOT) -> Entries:
    """Counts now, from /proc/interrupts."""
    since_ns = time.monotonic_ns()
    table = _table(root / "proc/interrupts", tuple(cpus))
    until_ns = time.monotonic_ns()
    return Entries(
        since_ns,
        until_ns,
        {
            cpu: sum(
                count
                for name, count in rows.items()
                if name.split()[0] not in _NOT_ENTRIES and name.split()[0] != "NMI"
            )
            for cpu, rows in table.items()
        },
    )


@dataclass(frozen=True, slots=True)
class Counters:
    """One reading: interrupts and softirqs by CPU and name, SMIs."""

    interrupts: dict[int, dict[str, int]]
    softirqs: dict[int, dict[str, int]]
    smi: int | None
    """SMIs since boot, which stop all CPUs alike; None where nothing counts them."""

    def since(self, before: Counters) -> Counters:
        """What was added since an earlier reading; rows that stood still are left out."""
        smi = None if self.smi is None or before.smi is None else self.smi - before.smi
        return Counters(
            _difference(self.interrupts, before.interrupts),
            _difference(self.softirqs, before.softirqs),
            smi,
        )


def _difference(
    now: dict[int, dict[str, int]], before: dict[int, dict[str, int]]
) -> dict[int, dict[str, int]]:
    return {
        cpu: {
            name: count - before.get(cpu, {}).get(name, 0)
            for name, count in rows.items()
            if count != before.get(cpu, {}).get(name, 0)
        }
        for cpu, rows in now.items()
    }


def read_counters(cpus: Iterable[int], root: Path = ROOT) -> Counters:
    """Reads them now; none of these files makes the kernel disturb another CPU."""
    wanted = tuple(cpus)
    return Counters(
        _table(root / "proc/interrupts", wanted),
        _table(root / "proc/softirqs", wanted),
        _smi_count(root),
    )


def _table(path: Path, cpus: tuple[int, ...]) -> dict[int, dict[str, int]]:
    """Counts by CPU and row of a file whose head line names the CPUs."""
    lines = read_text(path).splitlines()
    columns = [int(name[3:]) for name in lines[0].split()] if lines else []
    table: dict[int, dict[str, int]] = {cpu: {} for cpu in cpus}
    for line in lines[1:]:
        head, _, rest = line.partition(":")
        fields = rest.split()
        counts = fields[: len(columns)]
        if len(counts) < len(columns) or not all(count.isdigit() for count in counts):
            continue  # ERR and MIS are one number for the machine
        words = fields[len(columns) :]
        # Chip, number and trigger stand before the names of a device interrupt's actions.
        name = " ".join([head.strip(), *(words[-1:] if head.strip().isdigit() else words)])
        for cpu, count in zip(columns, counts, strict=True):
            if cpu in table:
                table[cpu][name] = int(count)
    return table


def _smi_count(root: Path) -> int | None:
    """Read on the CPU that this runs on: another one's register would cost it an interrupt."""
    if "GenuineIntel" not in read_text(root / "proc/cpuinfo")[:4096]:
        return None
    cpu = min(os.sched_getaffinity(0))
    try:
        fd = os.open(root / f"dev/cpu/{cpu}/msr", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return int.from_bytes(os.pread(fd, 8, _SMI_COUNT_MSR), "little")
    except OSError:
        return None
    finally:
        os.close(fd)
