"""``noisetop probe calibrate``: what entries cost on a CPU, from a thread that is interrupted on
purpose while it spins and is traced."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

from noisetop.events.symbols import SymbolTable
from noisetop.gaps.gaps import Gaps
from noisetop.machine import affinity
from noisetop.probe.clock import fit_clock
from noisetop.probe.entry_costs import NO_GAPS, GapContents, gap_contents, own_events
from noisetop.probe.sampler import (
    FROM_OTHERS,
    UNDISTURBED,
    ClockPair,
    Disturb,
    RawSpin,
    SpinProcess,
    clock_pair,
)
from noisetop.probe.traced import Trace, Tracing
from noisetop.tracing.stopper import Stopper
from noisetop.tracing.target import Target
from noisetop.tracing.tracer import Tracer

_THRESHOLD_LOOPS = 8
_LEAD_NS = 2_000_000
_RATE_S = 0.005
"""Between two readings of the clocks, so that a loop of a second ends in time to 1 %."""
_POLL_S = 0.005
_COLLECT_POLLS = 100
_GAPS_PER_S = 50_000
_MIN_CAPACITY = 1 << 14
_FAULT_SHARE = 8
"""Of the whole time that part is for page faults: tracing them changes what the rest costs."""


@dataclass(frozen=True, slots=True)
class _Phase:
    """How densely the thread is interrupted."""

    share: float
    """Of the time."""
    slice_ns: int
    """Between two timers and two page faults."""
    timer_ns: int
    send_ns: int
    without: Disturb = UNDISTURBED


_DENSE = _Phase(share=0.5, slice_ns=250_000, timer_ns=60_000, send_ns=150_000)
"""Nearly all entries are warm."""
_SPARSE = _Phase(0.5, 2_000_000, 700_000, 1_300_000, Disturb.SLEEP | Disturb.TIMEOUT)
"""Most of them are cold."""


@dataclass(frozen=True, slots=True)
class CalibrationSettings:
    """One CPU, once."""

    cpu: int
    duration_ns: int
    housekeeping: tuple[int, ...]
    """Other CPUs interrupt it from there, and the tool's own threads run there; perhaps it is one
    of them itself."""
    faults: bool = False
    """Whether to trace page faults."""
    symbols: SymbolTable | None = None

    @property
    def senders(self) -> tuple[int, ...]:
        """CPUs from which it can be interrupted."""
        return tuple(cpu for cpu in self.housekeeping if cpu != self.cpu)

    @property
    def own_cpus(self) -> tuple[int, ...]:
        """For the tool's own threads: others than the one that is measured, if there are any."""
        return self.senders or self.housekeeping

    @property
    def disturb(self) -> Disturb:
        """How it is interrupted."""
        kinds = Disturb.TIMER | Disturb.SLEEP | Disturb.TIMEOUT
        if self.senders:
            kinds |= FROM_OTHERS
        return kinds | Disturb.FAULT if self.faults else kinds


def measure(settings: CalibrationSettings, stopper: Stopper) -> GapContents:
    """Spins, interrupts and traces, at most until it is stopped. Raises NoisetopError."""
    if settings.own_cpus:
        affinity.bind(settings.own_cpus)
    tracing = Tracing(Target((settings.cpu,), title="calibration"), settings.own_cpus)
    tracer = Tracer(
        tracing.target,
        faults=settings.faults,
        housekeeping=settings.own_cpus,
        symbols=settings.symbols,
        samples_cost=False,
    )
    # The process comes first: programs are attached faster where CPUs are not idle.
    with _process(settings, _DENSE) as process, tracer:
        tracing.open(tracer)
        spins = [_spin(process, settings, _DENSE, tracing, stopper)]
        process.close()
        if not stopper.stopped:
            with _process(settings, _SPARSE) as process:
                spins.append(_spin(process, settings, _SPARSE, tracing, stopper))
        tracing.close()
    found = NO_GAPS
    for spin in spins:
        found = found.joined(_contents(*spin, tracing.trace))
    return found


def _process(settings: CalibrationSettings, phase: _Phase) -> SpinProcess:
    return SpinProcess(
        (settings.cpu,),
        capacity=max(_GAPS_PER_S * settings.duration_ns // 1_000_000_000, _MIN_CAPACITY),
        disturb=settings.disturb & ~phase.without,
        sender_cpu=settings.senders[0] if settings.senders else 0,
        send_ns=phase.send_ns,
        timer_ns=phase.timer_ns,
    )


def _spin(
    process: SpinProcess,
    settings: CalibrationSettings,
    phase: _Phase,
    tracing: Tracing,
    stopper: Stopper,
) -> tuple[RawSpin, list[ClockPair]]:
    first = clock_pair()
    time.sleep(_RATE_S)
    second = clock_pair()
    rate = (second.before_ticks - first.before_ticks) / (second.ns - first.ns)
    begin = second.after_ticks + round(_LEAD_NS * rate)
    process.begin(
        begin,
        begin + round(settings.duration_ns * phase.share * rate),
        _THRESHOLD_LOOPS * process.loop_ticks,
        busy_ticks=round(phase.slice_ns * rate),
    )
    pairs = [first, second, *_wait(process, tracing, stopper)]
    return process.results()[0], pairs


def measure_cpus(
    cpus: Iterable[int], duration_ns: int, housekeeping: tuple[int, ...], stopper: Stopper
) -> GapContents:
    """One CPU after the other, each for ``duration_ns``, with page faults at the end."""
    faults_ns = duration_ns // _FAULT_SHARE
    found = NO_GAPS
    for cpu in cpus:
        others = CalibrationSettings(cpu, duration_ns - faults_ns, housekeeping)
        faults = CalibrationSettings(cpu, faults_ns, housekeeping, faults=True)
        if not stopper.stopped:
            found = found.joined(measure(others, stopper))
        if not stopper.stopped:
            seen = measure(faults, stopper)
            found = found.joined(seen.chosen(seen.holding(fault=1)))
    return found


def _wait(process: SpinProcess, tracing: Tracing, stopper: Stopper) -> list[ClockPair]:
    pairs, polls = [], 0
    while not process.done():
        if stopper.stopped:
            process.stop()
        time.sleep(_POLL_S)
        polls += 1
        if polls % _COLLECT_POLLS == 0:
            pairs.append(clock_pair())
            tracing.collect()
    return [*pairs, clock_pair()]


def _contents(spin: RawSpin, pairs: list[ClockPair], trace: Trace) -> GapContents:
    clock = fit_clock([*pairs, spin.began, spin.ended])
    gaps = Gaps(
        clock.to_ns(spin.starts),
        clock.to_ns(spin.ends),
        round(spin.active_ticks / clock.ticks_per_ns),
    )
    events = own_events(trace.all(), trace.sources, spin.tid)
    return gap_contents(gaps, events, trace.sources)
