"""Folded stacks, for flamegraph.pl, inferno, speedscope: ``cpu 2;kernel;softirq;RCU;by tick 9``.

The weight is net time in ns. Page faults and entries, which are no noise, lie below roots of
their own. Where records got lost, a stack without weight says which: the format has no other place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO

from noisetop.counters.losses import LOSSES, describe_losses
from noisetop.exporters._stacks import side_stacks
from noisetop.recording.recording import Recording
from noisetop.summary.noise_stacks import noise_stacks
from noisetop.summary.recorded import summary_of
from noisetop.summary.summary import Summary
from noisetop.text.sanitize import printable

SUFFIXES = (".folded",)
HELP = "folded stacks weighted by net time in ns, for flamegraph.pl or speedscope"


def write(recording: Recording, out: BinaryIO) -> None:
    """Writes one line for each source of each CPU, sorted."""
    weights: Counter[str] = Counter()
    summary = summary_of(recording)
    for stack, net_ns in (*noise_stacks(summary), *side_stacks(summary)):
        weights[";".join(map(_frame, stack))] += net_ns
    weights.update(dict.fromkeys(map(_frame, _lacks(recording, summary)), 0))
    for line in sorted(weights):
        out.write(f"{line} {weights[line]}\n".encode())


def _lacks(recording: Recording, summary: Summary) -> Iterator[str]:
    losses = summary.counters.of(LOSSES)
    if losses.total or losses.unpaired:
        yield describe_losses(losses)
    if recording.damage:
        yield recording.damage


def _frame(name: str) -> str:
    """A name that no reader takes for anything else: separators as visible escapes."""
    safe = printable(name.replace("\\", "\\\\")).replace(";", "\\x3b")
    stripped = safe.strip(" ")
    if not stripped:
        return safe.replace(" ", "\\x20") or "\\empty"
    left = len(safe) - len(safe.lstrip(" "))
    right = len(safe) - len(safe.rstrip(" "))
    return "\\x20" * left + stripped + "\\x20" * right
