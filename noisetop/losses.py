"""Losses in words: what is missing is told wherever totals are shown."""

from __future__ import annotations

from noisetop.sanitize import printable
from noisetop.summary import Losses
from noisetop.system import format_cpu_list


def describe_losses(losses: Losses) -> str:
    """``lost 0``, or the total with each reason and the CPUs that it happened on."""
    if not losses.total:
        return "lost 0"
    counts: dict[str, int] = {}
    cpus: dict[str, list[int]] = {}
    for cpu, reasons in losses.by_cpu.items():
        for reason, count in reasons.items():
            if count:
                counts[reason] = counts.get(reason, 0) + count
                cpus.setdefault(reason, []).append(cpu)
    parts = [
        f"{printable(reason.replace('_', ' '))} {count} (CPU {format_cpu_list(cpus[reason])})"
        for reason, count in counts.items()
    ]
    for reason in ("unread", "unwritten", "recursion_misses"):
        if count := getattr(losses, reason):
            parts.append(f"{reason.replace('_', ' ')} {count}")
    return f"LOST {losses.total} events: {', '.join(parts)}"
