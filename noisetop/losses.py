"""Losses in words: what is missing is told wherever totals are shown."""

from __future__ import annotations

from noisetop.sanitize import printable
from noisetop.summary import Losses
from noisetop.system import format_cpu_list


def describe_losses(losses: Losses) -> str:
    """``lost 0``, or the counts with each reason and the CPUs that it happened on."""
    parts = _by_reason(losses)
    for reason in ("unread", "unwritten", "recursion_misses"):
        if count := getattr(losses, reason):
            parts.append(f"{reason.replace('_', ' ')} {count}")
    if not parts:
        return "lost 0"
    text = f"LOST {losses.total} events" if losses.total else "lost 0"
    if losses.unpaired:
        text += f", unpaired {losses.unpaired}"
    return f"{text}: {', '.join(parts)}"


def _by_reason(losses: Losses) -> list[str]:
    counts: dict[str, int] = {}
    cpus: dict[str, list[int]] = {}
    for cpu, reasons in losses.by_cpu.items():
        for reason, count in reasons.items():
            if count:
                counts[reason] = counts.get(reason, 0) + count
                cpus.setdefault(reason, []).append(cpu)
    return [
        f"{printable(reason.replace('_', ' '))} {count} (CPU {format_cpu_list(cpus[reason])})"
        for reason, count in counts.items()
    ]
