"""What the kernel and the CPU count meanwhile: all that can be said without tracing."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from noisetop.errors import NoisetopError
from noisetop.machine.cpu_vendor import INTEL, cpu_vendor
from noisetop.machine.proc_interrupts import counts_by_cpu
from noisetop.machine.smi import smis_since_boot
from noisetop.machine.system import ROOT, read_text, reader


@dataclass(frozen=True, slots=True)
class InterruptCounts:
    """One reading: interrupts and softirqs by CPU and name, SMIs."""

    interrupts: dict[int, dict[str, int]]
    softirqs: dict[int, dict[str, int]]
    smi: int | None
    """SMIs since boot, which stop all CPUs alike; None where nothing counts them."""

    def since(self, before: InterruptCounts) -> InterruptCounts:
        """What was added since an earlier reading; rows that stood still are left out."""
        smi = None if self.smi is None or before.smi is None else self.smi - before.smi
        return InterruptCounts(
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


def read_interrupt_counts(cpus: Iterable[int], root: Path = ROOT) -> InterruptCounts:
    """Counts since boot; none of these reads interrupts another CPU than this thread's own."""
    wanted = tuple(cpus)
    return InterruptCounts(
        counts_by_cpu(read_text(root / "proc/interrupts"), wanted),
        counts_by_cpu(read_text(root / "proc/softirqs"), wanted),
        _smis(root),
    )


def _smis(root: Path) -> int | None:
    """Read on a CPU of this process: another one's register would cost that one an interrupt."""
    if cpu_vendor(reader(root)) != INTEL:
        return None
    try:
        return smis_since_boot(min(os.sched_getaffinity(0)), root)
    except NoisetopError:
        return None
