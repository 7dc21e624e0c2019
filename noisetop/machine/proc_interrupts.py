"""/proc/interrupts and /proc/softirqs: how often each CPU took each interrupt since boot."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from noisetop.machine.system import ROOT, read_text

_CPU = re.compile(r"CPU([0-9]{1,5})")
_COUNT = re.compile(r"[0-9]{1,20}")
_NOT_ENTRIES = frozenset({"TLB", "RTR", "MCP", "PMI"})
"""Rows of /proc/interrupts that count no entry of their own: function calls for TLB flushes are in
CAL, too, retries and polls are no interrupts, and PMIs come as NMIs (arch/x86/kernel/irq.c)."""


@dataclass(frozen=True, slots=True)
class InterruptRow:
    """One row of such a file."""

    label: str
    """``36``, ``NMI``, or the name of a softirq vector."""
    words: tuple[str, ...]
    """What follows the counts: chip, number, trigger and actions of a device interrupt."""
    counts: dict[int, int]
    """Since boot, by CPU."""

    @property
    def name(self) -> str:
        """The label with the action of a device interrupt, or with the description."""
        return " ".join([self.label, *(self.words[-1:] if self.label.isdigit() else self.words)])


def interrupt_rows(text: str) -> Iterator[InterruptRow]:
    """The rows that count by CPU, in order; rows that do not (ERR, MIS) are left out.

    /proc/interrupts has a column for each online CPU, /proc/softirqs for each possible one.
    """
    head, *lines = text.splitlines() or [""]
    cpus = [int(match[1]) for name in head.split() if (match := _CPU.fullmatch(name))]
    for line in lines:
        label, colon, rest = line.partition(":")
        fields = rest.split()
        values = fields[: len(cpus)]
        if colon and len(values) == len(cpus) and all(map(_COUNT.fullmatch, values)):
            counts = dict(zip(cpus, map(int, values), strict=True))
            yield InterruptRow(label.strip(), tuple(fields[len(cpus) :]), counts)


def parse_interrupts(text: str) -> dict[str, dict[int, int]]:
    """Counts by label (``36``, ``NMI``), then by CPU."""
    return {row.label: row.counts for row in interrupt_rows(text)}


def counts_by_cpu(text: str, cpus: Iterable[int]) -> dict[int, dict[str, int]]:
    """Counts of some CPUs by the name of the row; empty for a CPU without a column."""
    rows = list(interrupt_rows(text))
    return {cpu: {row.name: row.counts[cpu] for row in rows if cpu in row.counts} for cpu in cpus}


def softirq_names(root: Path = ROOT) -> tuple[str, ...]:
    """Names of the softirq vectors, by number."""
    return tuple(row.label for row in interrupt_rows(read_text(root / "proc/softirqs")))


@dataclass(frozen=True, slots=True)
class InterruptEntries:
    """How often each CPU was interrupted up to a moment between two readings of the clock."""

    since_ns: int
    """CLOCK_MONOTONIC before the file was read."""
    until_ns: int
    """CLOCK_MONOTONIC after it was read."""
    counts: dict[int, int]
    """By CPU: all interrupts but NMIs."""


def read_entries(cpus: Iterable[int], root: Path = ROOT) -> InterruptEntries:
    """Interrupts of some CPUs up to now; 0 for a CPU without a column."""
    since_ns = time.monotonic_ns()
    text = read_text(root / "proc/interrupts")
    until_ns = time.monotonic_ns()
    entering = [
        row.counts
        for row in interrupt_rows(text)
        if row.label != "NMI" and row.label not in _NOT_ENTRIES
    ]
    counts = {cpu: sum(row.get(cpu, 0) for row in entering) for cpu in cpus}
    return InterruptEntries(since_ns, until_ns, counts)
