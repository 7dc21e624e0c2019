"""The figures of a spinning thread's gaps that limits are compared with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from noisetop.errors import NoisetopError, UsageError
from noisetop.gaps.result import CpuSpin, LostPart, ProbeResult
from noisetop.limits.grammar import COST, COUNT, LOST, NOISE, SINGLE, SOURCE, TIME, Limit
from noisetop.limits.outcome import Culprit, Outcome
from noisetop.text.column import percent
from noisetop.text.sanitize import printable

_SOURCES = ("event", "admitted")
"""Kinds of parts that are a source."""


def check_gap_limits(limits: Sequence[Limit]) -> None:
    """Raises UsageError for a limit on what the gaps of a spinning thread do not tell."""
    for one in limits:
        if one.name == COST:
            raise UsageError(
                f"'{printable(one.text)}': gaps have no estimated cost: write 'noise>0.1%', the "
                "share of the time in gaps"
            )
        if one.name == SOURCE and one.unit == TIME:
            raise UsageError(
                f"'{printable(one.text)}': gaps have no longest interruption by source: write "
                "'single>50us', the longest gap, or a count or a share of the source"
            )


def gap_outcomes(limits: Sequence[Limit], result: ProbeResult) -> tuple[Outcome, ...]:
    """What became of the limits for a result of probe spin, in their order; of several runs and
    CPUs the worst decides.

    Raises UsageError as check_gap_limits() and for other probes, NoisetopError for a limit on
    sources where nothing was traced.
    """
    if limits and result.kind != "spin":
        raise UsageError(
            f"--fail-on takes a recording or a result of probe spin, not {result.kind}"
        )
    check_gap_limits(limits)
    spins = [cpu for run in result.spin for cpu in run.cpus]
    return tuple(_FIGURES[limit.name](limit, spins) for limit in limits)


def lost_events(result: ProbeResult) -> int:
    """Events that the tracer lost while the gaps were measured."""
    spins = (cpu for run in result.spin for cpu in run.cpus)
    return sum(cpu.explained.lost_events for cpu in spins if cpu.explained)


def spun_ns(result: ProbeResult) -> int:
    """How long its runs took together, in ns."""
    runs = (run.cpus for run in result.spin if run.cpus)
    return sum(max(one.end_ns for one in cpus) - cpus[0].start_ns for cpus in runs)


def _noise(limit: Limit, spins: Sequence[CpuSpin]) -> Outcome:
    worst = max(spins, key=lambda cpu: cpu.lost_share, default=None)
    if worst is None:
        return Outcome(limit, 0.0)
    return _outcome(limit, 100 * worst.lost_share, worst, worst.parts)


def _single(limit: Limit, spins: Sequence[CpuSpin]) -> Outcome:
    worst = max(spins, key=lambda cpu: cpu.max_ns, default=None)
    if worst is None:
        return Outcome(limit, 0)
    gap = next((one for one in worst.longest if one.length_ns == worst.max_ns), None)
    return _outcome(limit, worst.max_ns, worst, gap.parts if gap else ())


def _lost(limit: Limit, spins: Sequence[CpuSpin]) -> Outcome:
    return Outcome(limit, sum(cpu.explained.lost_events for cpu in spins if cpu.explained))


def _source(limit: Limit, spins: Sequence[CpuSpin]) -> Outcome:
    if not all(cpu.explained for cpu in spins):
        raise NoisetopError(
            f"limit {printable(limit.text)}: the gaps were not traced: run as root without "
            "--no-trace"
        )
    parts = {id(cpu): [one for one in cpu.parts if _is_of(limit, one)] for cpu in spins}
    found = [one for cpu in spins for one in parts[id(cpu)]]
    if limit.unit == COUNT or not spins:
        culprit = _culprit(found, lambda one: one.count)
        return Outcome(limit, sum(one.count for one in found), culprit=culprit)
    shares = [(percent(_net_ns(parts[id(cpu)]), cpu.active_ns), cpu) for cpu in spins]
    value, worst = max(shares, key=lambda pair: pair[0])
    return Outcome(limit, value, _number(worst), _culprit(parts[id(worst)], _part_ns))


def _is_of(limit: Limit, part: LostPart) -> bool:
    return part.kind in _SOURCES and limit.matches(part.path)


def _part_ns(part: LostPart) -> int:
    return part.net_ns


def _net_ns(parts: Iterable[LostPart]) -> int:
    return sum(map(_part_ns, parts))


def _culprit(parts: Iterable[LostPart], size: Callable[[LostPart], int]) -> Culprit | None:
    """The source that has most; results hold nobody who caused it."""
    sources = [one for one in parts if one.kind in _SOURCES]
    largest = max(sources, key=size, default=None)
    return Culprit(tuple(largest.path)) if largest else None


def _number(cpu: CpuSpin) -> int | None:
    return cpu.cpu if cpu.cpu >= 0 else None


def _outcome(limit: Limit, value: float, cpu: CpuSpin, parts: Iterable[LostPart]) -> Outcome:
    """With the moment of the longest gap."""
    gap = next((one for one in cpu.longest if one.length_ns == cpu.max_ns), None)
    culprit = replace(
        _culprit(parts, _part_ns) or Culprit(()),
        worst_ns=cpu.max_ns,
        start_ns=gap.start_ns if gap else None,
    )
    return Outcome(limit, value, _number(cpu), culprit, period_start_ns=cpu.start_ns)


_FIGURES: dict[str, Callable[[Limit, Sequence[CpuSpin]], Outcome]] = {
    NOISE: _noise,
    SINGLE: _single,
    LOST: _lost,
    SOURCE: _source,
}
