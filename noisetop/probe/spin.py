"""``noisetop probe spin``: spins, traces beside it, and joins what both saw."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field

from noisetop.errors import NoisetopError, UsageError
from noisetop.gaps.result import ClockResult, CpuSpin, SpinResult
from noisetop.machine import affinity
from noisetop.machine.proc_interrupts import InterruptEntries, read_entries
from noisetop.probe.accounted_time import Watcher
from noisetop.probe.clock import Clock, fit_clock
from noisetop.probe.interrupt_counts import InterruptCounts, read_interrupt_counts
from noisetop.probe.machine import load
from noisetop.probe.priority import Priority
from noisetop.probe.sampler import ANY_CPU, ClockPair, RawSpin, SpinProcess, clock_pair
from noisetop.probe.spin_result import Seen, cpu_spin
from noisetop.probe.traced import Trace, Tracing
from noisetop.text.units import format_ns
from noisetop.tracing.stopper import Stopper
from noisetop.tracing.target import Target
from noisetop.tracing.tracer import Tracer

DEFAULT_THRESHOLD_LOOPS = 8
LONG_NS = 1_000
DUTY_PERIOD_NS = 100_000_000
_LEAD_NS = 20_000_000
_POLL_NS = 50_000_000
_RATE_PROBE_S = 0.02
_GAPS_PER_S = 50_000
_MIN_CAPACITY = 1 << 16
_MAX_CAPACITY = 1 << 22
_COLLECT_POLLS = 10


@dataclass(frozen=True, slots=True)
class SpinSettings:
    """One run."""

    cpus: tuple[int, ...]
    duration_ns: int
    housekeeping: tuple[int, ...] = ()
    threshold_ns: int = 0
    """0: 8 times the cost of the loop."""
    priority: Priority | None = None
    fenced: bool = False
    bind: bool = True
    busy_percent: int = 100
    load: int = 0
    trace: bool = True
    periods: int = 0
    """How many alternating active and inactive periods to keep."""

    @property
    def capacity(self) -> int:
        """Gaps that each thread can store."""
        wanted = self.duration_ns * _GAPS_PER_S // 1_000_000_000
        return min(max(wanted, _MIN_CAPACITY), _MAX_CAPACITY)

    @property
    def thread_cpus(self) -> tuple[int, ...]:
        """CPU of each thread; ANY_CPU when they are not bound."""
        return self.cpus if self.bind else (ANY_CPU,) * len(self.cpus)


@dataclass(slots=True)
class _Run:
    """What is collected while the loops run."""

    settings: SpinSettings
    process: SpinProcess
    watcher: Watcher
    tracing: Tracing
    pairs: list[ClockPair] = field(default_factory=list)
    entries: list[InterruptEntries] = field(default_factory=list)
    """The first reading while the loops ran, and the last."""

    def threshold_ticks(self, ticks_per_ns: float) -> int:
        """Raises UsageError when the loop cannot see gaps as short as that."""
        loop, step = self.process.loop_ticks, self.process.resolution_ticks
        if not self.settings.threshold_ns:
            return DEFAULT_THRESHOLD_LOOPS * loop
        wanted = round(self.settings.threshold_ns * ticks_per_ns)
        if wanted < loop + step:
            least = -(-(loop + step) // ticks_per_ns)
            raise UsageError(
                f"threshold {format_ns(self.settings.threshold_ns)} is under what the loop can "
                f"see: use -T {least:.0f} or more"
            )
        return wanted

    def begin(self) -> None:
        """Lets the loops begin at one moment a little later."""
        first = clock_pair()
        time.sleep(_RATE_PROBE_S)
        second = clock_pair()
        self.pairs += [first, second]
        rate = (second.before_ticks - first.before_ticks) / (second.ns - first.ns)
        begin = second.after_ticks + round(_LEAD_NS * rate)
        busy = self.settings.busy_percent
        busy_ns = DUTY_PERIOD_NS * busy // 100
        self.process.begin(
            begin,
            begin + round(self.settings.duration_ns * rate),
            self.threshold_ticks(rate),
            round(LONG_NS * rate),
            round(busy_ns * rate) if busy < 100 else 0,
            DUTY_PERIOD_NS - busy_ns,
        )

    def wait(self, stopper: Stopper) -> None:
        """Until the loops have ended; takes clock pairs and the kernel's counters on the way."""
        self.watcher.poll()
        polls = 0
        while not self.process.done():
            if stopper.wait_until(time.monotonic_ns() + _POLL_NS):
                self.process.stop()
                self._await_end()
            self.pairs.append(clock_pair())
            self.watcher.poll()
            self._read_entries()
            polls += 1
            if polls % _COLLECT_POLLS == 0:
                self.tracing.collect()
        self.pairs.append(clock_pair())
        self.watcher.poll()  # they may have ended, and a wait with them, while that was collected

    def _read_entries(self) -> None:
        now = read_entries(self.settings.cpus)
        if self.settings.bind and not self.process.done():
            self.entries = [*self.entries[:1], now]

    def _await_end(self) -> None:
        while not self.process.done():
            time.sleep(_POLL_NS / 1e9 / 10)


def run_spin(
    settings: SpinSettings, stopper: Stopper, attached: Callable[[], object] = bool
) -> SpinResult:
    """Runs one setting; calls ``attached`` when the programs are, before anything else starts.
    Raises NoisetopError, and UsageError for what cannot be."""
    if settings.housekeeping:
        affinity.bind(settings.housekeeping)
    with ExitStack() as stack:
        stack.enter_context(load(settings.load))
        watcher = Watcher(0, settings.cpus, ())
        stack.callback(watcher.close)
        process = stack.enter_context(
            SpinProcess(
                settings.thread_cpus,
                settings.priority,
                settings.fenced,
                settings.capacity,
            )
        )
        watcher.pid, watcher.tids = process.pid, process.tids
        target = Target(_traced_cpus(settings), pid=process.pid, title="probe")
        run = _Run(settings, process, watcher, Tracing(target, settings.housekeeping))
        tracer = Tracer(target, housekeeping=settings.housekeeping) if settings.trace else None
        if tracer:
            stack.enter_context(tracer)
            attached()
        watcher.start()
        if tracer:
            run.tracing.open(tracer)
        before = read_interrupt_counts(settings.cpus)
        run.begin()
        run.wait(stopper)
        counters = read_interrupt_counts(settings.cpus).since(before)
        run.tracing.close()
        return _result(run, process.results(), counters)


def _traced_cpus(settings: SpinSettings) -> tuple[int, ...]:
    """All where an unbound thread may run, else those that are spun on."""
    if settings.bind:
        return settings.cpus
    return tuple(sorted({*settings.cpus, *settings.housekeeping}))


def _result(run: _Run, raw: list[RawSpin], counters: InterruptCounts) -> SpinResult:
    settings = run.settings
    clock = fit_clock(run.pairs)
    if any(not len(spin.starts) and not spin.loops for spin in raw):
        raise NoisetopError("the loops were stopped before they had begun: use a longer -d")
    trace = run.tracing.trace if settings.trace else None
    return SpinResult(
        busy_percent=settings.busy_percent,
        cpus=[_cpu(run, spin, clock, counters, trace) for spin in raw],
        clock=ClockResult(
            ticks_per_ns=clock.ticks_per_ns,
            uncertainty_ns=clock.uncertainty_ns,
            pairs=len(run.pairs),
            cpu_offset_ns=max(clock.offset_ns((spin.began, spin.ended)) for spin in raw),
        ),
        smi=counters.smi,
        missing=trace.notes() if trace else [],
        priority=str(settings.priority or ""),
        load=settings.load,
        fenced=settings.fenced,
    )


def _cpu(
    run: _Run, spin: RawSpin, clock: Clock, counters: InterruptCounts, trace: Trace | None
) -> CpuSpin:
    seen = Seen(spin, clock, run.watcher, counters, trace, tuple(run.entries))
    return cpu_spin(seen, run.settings.periods)
