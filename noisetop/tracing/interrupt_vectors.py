"""Interrupts of the local APIC that not every kernel takes (x86)."""

from __future__ import annotations

from pathlib import Path

from noisetop.machine.proc_interrupts import parse_interrupts
from noisetop.machine.system import ROOT, read_text

_ROWS = {"thermal_apic": "TRM", "threshold_apic": "THR", "deferred_error_apic": "DFR"}
"""Handler, tracepoints and row of /proc/interrupts of these vectors are built together, for the
CPUs of one vendor or by an option (arch/x86/kernel/irq.c, arch/x86/include/asm/trace/
irq_vectors.h)."""


def vectors_not_taken(root: Path = ROOT) -> frozenset[str]:
    """Vectors that this kernel has no handler for, so that no trace can lack them."""
    rows = parse_interrupts(read_text(root / "proc/interrupts"))
    return frozenset(vector for vector, row in _ROWS.items() if row not in rows)
