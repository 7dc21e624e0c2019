"""Losses: what happened but is not among the events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from noisetop.checked_json import whole
from noisetop.counters.section import Brief, Reader, Section, TraceReadings
from noisetop.text.cpu_list import format_cpu_list
from noisetop.text.sanitize import printable

_DROPPED_EVENTS = ("ring_full", "nesting")
_DROPPED = (*_DROPPED_EVENTS, "trigger")
_AFTER_THE_RINGS = ("lost_batch", "lost_spool", "recursion_misses")
_FIELD, _ENUM = "losses", "noise_loss"


@dataclass(frozen=True, slots=True)
class Losses:
    """Counts of what was dropped, and of what the kernel did not report."""

    by_cpu: dict[int, dict[str, int]] = field(default_factory=dict)
    """Per CPU and reason; reasons are those of ``enum noise_loss``, in lower case."""
    lost_batch: int = 0
    """Dropped after the rings because the live view did not fetch them in time."""
    lost_spool: int = 0
    """Dropped after the rings because the disk did not take them."""
    recursion_misses: int = 0
    """Hits that the kernel skipped because the same program was running on that CPU."""

    @property
    def total(self) -> int:
        """Dropped records, wherever they got lost: events and triggers."""
        return self._sum(_DROPPED) + self.lost_batch + self.lost_spool + self.recursion_misses

    def events_lost_on(self, cpu: int) -> int:
        """Dropped events alone, on one CPU and after its ring."""
        counts = self.by_cpu.get(cpu, {})
        return sum(counts.get(reason, 0) for reason in _DROPPED_EVENTS) + self.lost_batch

    def dropped_by_reason(self) -> dict[str, int]:
        """What ``total`` is made of."""
        found = {reason: self._sum((reason,)) for reason in _DROPPED}
        return found | {name: getattr(self, name) for name in _AFTER_THE_RINGS}

    def unpaired_by_reason(self) -> dict[str, int]:
        """What ``unpaired`` is made of."""
        reasons = dict.fromkeys(one for counts in self.by_cpu.values() for one in counts)
        return {one: self._sum((one,)) for one in reasons if one not in _DROPPED}

    @property
    def unpaired(self) -> int:
        """Beginnings, ends and context switches that the kernel did not report."""
        return self._sum(None) - self._sum(_DROPPED)

    def _sum(self, reasons: tuple[str, ...] | None) -> int:
        return sum(
            count
            for counts in self.by_cpu.values()
            for reason, count in counts.items()
            if reasons is None or reason in reasons
        )


def describe_losses(losses: Losses) -> str:
    """``lost 0``, or the counts with each reason and the CPUs that it happened on."""
    parts = _by_reason(losses)
    for reason in _AFTER_THE_RINGS:
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


class LossesSection(Section[Losses, Losses]):
    """Counted by the kernel side per CPU, and by the drain thread."""

    rank = 10
    head = "losses"
    in_status = True
    since_start = True

    def open(self, trace: TraceReadings) -> Reader[Losses]:
        """Part of Section."""

        def read() -> Losses:
            by_cpu = trace.cpu_counters(_FIELD, _ENUM)
            totals = trace.totals()
            return Losses(
                by_cpu={
                    cpu: counts
                    for cpu, counts in by_cpu.items()
                    if cpu in trace.cpus or any(counts.values())
                },
                lost_batch=totals["lost_batch"],
                lost_spool=totals["lost_spool"],
                recursion_misses=trace.recursion_misses(),
            )

        return Reader(read)

    def between(self, before: Losses, after: Losses, start_ns: int, end_ns: int) -> Losses:
        """Misses are counted since the programs were attached, the rest since the start."""
        misses = after.recursion_misses - before.recursion_misses
        return Losses(after.by_cpu, after.lost_batch, after.lost_spool, misses)

    def none(self) -> Losses:
        """Nothing was lost."""
        return Losses()

    def part(self, value: Losses, start_ns: int, end_ns: int) -> Losses:
        """Part of Section."""
        return value

    def to_file(self, value: Losses) -> dict[str, Any]:
        """Part of Section. Files call records dropped after the rings unread and unwritten."""
        return {
            "losses": {
                "by_cpu": value.by_cpu,
                "unread": value.lost_batch,
                "unwritten": value.lost_spool,
                "recursion_misses": value.recursion_misses,
            }
        }

    def from_file(self, content: Mapping[str, Any]) -> Losses:
        """Part of Section."""
        stored = content.get("losses", {"by_cpu": {}})
        return Losses(
            by_cpu={
                whole(cpu): {str(reason): whole(count) for reason, count in counts.items()}
                for cpu, counts in stored["by_cpu"].items()
            },
            lost_batch=whole(stored.get("unread", 0)),
            lost_spool=whole(stored.get("unwritten", 0)),
            recursion_misses=whole(stored.get("recursion_misses", 0)),
        )

    def from_cpu_counters(
        self, read: Callable[[str, str], dict[int, dict[str, int]]], cpus: Sequence[int]
    ) -> Losses:
        """Part of Section."""
        return Losses(read(_FIELD, _ENUM))

    def as_dict(self, value: Losses) -> dict[str, object]:
        """Part of Section."""
        by_cpu = {str(cpu): dict(reasons) for cpu, reasons in sorted(value.by_cpu.items())}
        return {
            "lost": value.total,
            "losses": {
                "by_cpu": by_cpu,
                "unpaired": value.unpaired,
                "lost_batch": value.lost_batch,
                "lost_spool": value.lost_spool,
                "recursion_misses": value.recursion_misses,
            },
        }

    def brief(self, value: Losses, duration_ns: int) -> Brief:
        """Part of Section."""
        return Brief(describe_losses(value), alert=value.total > 0)


LOSSES = SECTION = LossesSection()
