"""What a program that only looks at the clock sees on a watched CPU."""

from __future__ import annotations

from statistics import median

from noisetop.checks.audited import AuditedMachine
from noisetop.checks.result import Verdict, check, passed
from noisetop.checks.status import Status
from noisetop.machine.reading import CannotTellError, Reading
from noisetop.machine.spin import GAP_NS, Spin
from noisetop.text.units import format_ns

_SHORT_NS, _LONG_NS = 10_000, 100_000
_FEW_PER_SECOND = 10
_TICK_RATES_HZ = (100, 250, 300, 1000)
_TICK_TOLERANCE = 0.03


def _spins(machine: AuditedMachine) -> tuple[Spin, ...]:
    if not machine.spins:
        raise CannotTellError("not measured, as it occupies a CPU: add --spin 10s")
    failed = [spin for spin in machine.spins if spin.why]
    if failed:
        raise CannotTellError(f"CPU {failed[0].cpu} could not be measured: {failed[0].why}")
    return machine.spins


def _reading(spin: Spin) -> Reading:
    longest_ns = max(spin.gaps_ns, default=0)
    return Reading(
        f"clock on CPU {spin.cpu}",
        f"{len(spin.gaps_ns)} gaps above {format_ns(GAP_NS)} in {format_ns(spin.duration_ns)}, "
        f"longest {format_ns(longest_ns)}",
    )


@check(
    "C52",
    "longest-gap",
    question="Are programs on these CPUs never interrupted for long?",
    reads=("the clock, on each watched CPU, with --spin",),
    expected=f"no gap above {format_ns(_SHORT_NS)}",
    why="This is the worst-case latency that a real-time program sees.",
    fix="noisetop diagnose -c LIST names the cause of the gaps",
    rank=15,
    sources="hwlatdetect (threshold 10 µs), rtla hwnoise",
)
def longest_gap(machine: AuditedMachine) -> Verdict:
    """The longest gap of a spinning thread."""
    spins = _spins(machine)
    worst = max(spins, key=lambda spin: max(spin.gaps_ns, default=0))
    gap_ns = max(worst.gaps_ns, default=0)
    if gap_ns <= _SHORT_NS:
        return passed(f"No gap was longer than {format_ns(_SHORT_NS)}", _reading(worst))
    return Verdict(
        Status.FAIL if gap_ns > _LONG_NS else Status.WARN,
        f"A program on CPU {worst.cpu} was interrupted for {format_ns(gap_ns)}",
        (_reading(worst),),
        cpus=(worst.cpu,),
    )


@check(
    "C53",
    "gap-rate",
    question="Are programs on these CPUs rarely interrupted?",
    reads=("the clock, on each watched CPU, with --spin",),
    expected=f"fewer than {_FEW_PER_SECOND} gaps a second",
    why="Many short gaps add variance to every measurement.",
    fix="noisetop diagnose -c LIST names the cause of the gaps",
    rank=16,
    sources="rtla osnoise",
)
def gap_rate(machine: AuditedMachine) -> Verdict:
    """Gaps per second, and whether they come at the rate of a tick."""
    spins = _spins(machine)
    worst = max(spins, key=lambda spin: len(spin.gaps_ns) / spin.duration_ns)
    rate = len(worst.gaps_ns) / (worst.duration_ns / 1e9)
    if rate < _FEW_PER_SECOND:
        return passed(f"A program was interrupted {rate:.1f} times a second", _reading(worst))
    tick_hz = _tick_rate(worst)
    return Verdict(
        Status.FAIL if tick_hz else Status.WARN,
        f"A program on CPU {worst.cpu} was interrupted {rate:.0f} times a second"
        + (f", at the rate of a {tick_hz} Hz timer tick" if tick_hz else ""),
        (_reading(worst),),
        cpus=(worst.cpu,),
    )


def _tick_rate(spin: Spin) -> int | None:
    """The tick that the usual distance of gaps fits, in Hz."""
    distances = [b - a for a, b in zip(spin.starts_ns, spin.starts_ns[1:], strict=False)]
    if not distances:
        return None
    usual_ns = median(distances)
    for rate_hz in _TICK_RATES_HZ:
        if abs(usual_ns * rate_hz / 1e9 - 1) < _TICK_TOLERANCE:
            return rate_hz
    return None
