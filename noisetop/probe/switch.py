"""``noisetop probe switch``: processes that compete for one CPU, and what the trace says."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from noisetop.errors import NoisetopError
from noisetop.events.interruption import Interruptions, Source
from noisetop.gaps.gaps import percentiles_ns
from noisetop.gaps.result import SwitchProcess, SwitchResult
from noisetop.machine import affinity
from noisetop.probe.clock import Clock, fit_clock
from noisetop.probe.priority import Priority
from noisetop.probe.sampler import ClockPair, RawSpin, SpinProcess, clock_pair
from noisetop.probe.traced import Tracing
from noisetop.tables.histogram import bucket_of
from noisetop.tracing.stopper import Stopper
from noisetop.tracing.target import Target
from noisetop.tracing.tracer import Tracer

Times = npt.NDArray[np.int64]

_NAME = "noisetop-switch"
_THRESHOLD_LOOPS = 8
_CAPACITY = 1 << 20
_LONG_NS = 1_000
_LEAD_NS = 20_000_000
_POLL_NS = 50_000_000
_RATE_PROBE_S = 0.02
_TIMELINE = 400
_SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


@dataclass(frozen=True, slots=True)
class SwitchSettings:
    """One run."""

    cpu: int
    processes: int
    duration_ns: int
    housekeeping: tuple[int, ...] = ()
    priority: Priority | None = None
    trace: bool = True


@dataclass(frozen=True, slots=True)
class Slices:
    """Who ran from when to when: consecutive slices belong to different processes."""

    process: npt.NDArray[np.int64]
    start_ns: Times
    end_ns: Times
    ran_ns: Times
    """Time in which the process ran, without the interrupts in between."""

    @property
    def handover_ns(self) -> Times:
        """From the last sign of life of a process to the first one of the next."""
        return self.start_ns[1:] - self.end_ns[:-1]


def slices_of(active: Sequence[tuple[Times, Times]]) -> Slices:
    """Slices from the periods in which each process ran; one CPU, so none of them overlap."""
    process = np.concatenate([np.full(len(start), i) for i, (start, _) in enumerate(active)])
    start = np.concatenate([start for start, _ in active])
    end = np.concatenate([end for _, end in active])
    order = np.argsort(start, kind="stable")
    process, start, end = process[order].astype(np.int64), start[order], end[order]
    if not len(start):
        return Slices(process, start, end, end - start)
    first = np.flatnonzero(np.concatenate([[True], process[1:] != process[:-1]]))
    last = np.concatenate([first[1:] - 1, [len(start) - 1]])
    ran = np.add.reduceat(end - start, first)
    return Slices(process[first], start[first], end[last], ran)


def _active(spin: RawSpin, clock: Clock) -> tuple[Times, Times]:
    """Periods between the gaps, and before the first and after the last."""
    start = clock.to_ns(np.concatenate([[spin.first_ticks], spin.ends]))
    end = clock.to_ns(np.concatenate([spin.starts, [spin.last_ticks]]))
    ran = end > start
    return start[ran], end[ran]


@dataclass(frozen=True, slots=True)
class Traced:
    """What the trace says about the same time."""

    confirmed: int
    """Handovers that it shows as well."""
    per_process: list[int]
    """Thread events of each process."""
    unseen: int
    """Those among them in which the process gave no sign of life."""
    unseen_ns: int


def count_traced(
    slices: Slices, tids: Sequence[int], events: Interruptions, sources: Sequence[Source]
) -> Traced:
    """Holds the slices against the thread events between the first and the last of them."""
    is_thread = np.array([source.noise_class == "thread" for source in sources], bool)
    threads = events[is_thread[events["source"]]] if len(sources) else events
    # Before and after, the processes wait to begin and wind up.
    during = threads["start_ns"] >= slices.start_ns[0]
    threads = threads[during & (threads["start_ns"] <= slices.end_ns[-1])]
    start = threads["start_ns"].astype(np.int64)
    end = start + threads["gross_ns"].astype(np.int64)
    moments = np.sort(np.concatenate([start, end]))
    after_last_sign = np.searchsorted(moments, slices.end_ns[:-1], "left")
    before_next_sign = np.searchsorted(moments, slices.start_ns[1:], "right")
    confirmed = int((before_next_sign > after_last_sign).sum())
    per_process, unseen, unseen_ns = [], 0, 0
    for i, tid in enumerate(tids):
        mine = threads["tid"] == tid
        per_process.append(int(mine.sum()))
        own = slices.process == i
        begun = np.searchsorted(slices.start_ns[own], end[mine], "left")
        over = np.searchsorted(slices.end_ns[own], start[mine], "right")
        unseen += int((begun <= over).sum())
        unseen_ns += int((end - start)[mine][begun <= over].sum())
    return Traced(confirmed, per_process, unseen, unseen_ns)


def run_switch(
    settings: SwitchSettings, stopper: Stopper, attached: Callable[[], object] = bool
) -> SwitchResult:
    """Lets the processes compete; calls ``attached`` when the programs are. Raises
    NoisetopError."""
    if settings.housekeeping:
        affinity.bind(settings.housekeeping)
    with ExitStack() as stack:
        group: list[SpinProcess] = []
        for _ in range(settings.processes):
            # Real-time processes would not let the next one get ready: priority comes by itself.
            process = SpinProcess(
                (settings.cpu,), settings.priority, capacity=_CAPACITY, name=_NAME
            )
            group.append(stack.enter_context(process))
        tracing = Tracing(Target((settings.cpu,), title="probe"), settings.housekeeping)
        own = settings.housekeeping
        tracer = Tracer(tracing.target, housekeeping=own) if settings.trace else None
        if tracer:
            stack.enter_context(tracer)
            attached()
            tracing.open(tracer)
        pairs = _compete(settings, group, tracing, stopper)
        tracing.close()
        raw = [process.results()[0] for process in group]
        pids = [process.pid for process in group]
    return _result(settings, raw, pids, fit_clock(pairs), tracing)


def _compete(
    settings: SwitchSettings, group: list[SpinProcess], tracing: Tracing, stopper: Stopper
) -> list[ClockPair]:
    first = clock_pair()
    time.sleep(_RATE_PROBE_S)
    pairs = [first, clock_pair()]
    rate = (pairs[1].before_ticks - first.before_ticks) / (pairs[1].ns - first.ns)
    begin = pairs[1].after_ticks + round(_LEAD_NS * rate)
    for process in group:
        threshold = _THRESHOLD_LOOPS * process.loop_ticks
        end = begin + round(settings.duration_ns * rate)
        process.begin(begin, end, threshold, round(_LONG_NS * rate))
    while sum(process.done() for process in group) < len(group):
        if stopper.wait_until(time.monotonic_ns() + _POLL_NS):
            for process in group:
                process.stop()
            time.sleep(_POLL_NS / 1e9 / 10)
        pairs.append(clock_pair())
        tracing.collect()
    return pairs


def _result(
    settings: SwitchSettings,
    raw: list[RawSpin],
    pids: list[int],
    clock: Clock,
    tracing: Tracing,
) -> SwitchResult:
    if any(spin.unstored_count for spin in raw):
        raise NoisetopError("there were more gaps than could be stored: use a shorter -d")
    slices = slices_of([_active(spin, clock) for spin in raw])
    if len(slices.process) < 2:
        raise NoisetopError("only one of the processes ran: use a longer -d")
    traced: Traced | None = None
    if settings.trace:
        tids = [tracing.trace.host_number(spin.tid) for spin in raw]
        traced = count_traced(slices, tids, tracing.trace.all(), tracing.trace.sources)
    length = slices.end_ns - slices.start_ns
    # The first and the last were cut by the run.
    whole = length[1:-1] if len(length) > 2 else length
    rows = np.stack([slices.process, slices.start_ns, slices.end_ns], axis=1)
    return SwitchResult(
        cpu=settings.cpu,
        duration_ns=int(slices.end_ns[-1] - slices.start_ns[0]),
        processes=_processes(slices, pids, traced.per_process if traced else None),
        slice_ns=_figures(whole),
        slice_histogram=_histogram(whole),
        switch_ns=_figures(slices.handover_ns),
        switches=len(slices.process) - 1,
        traced_switches=traced.confirmed if traced else None,
        unseen=traced.unseen if traced else None,
        unseen_ns=traced.unseen_ns if traced else None,
        timeline=rows[:_TIMELINE].tolist(),
        missing=tracing.trace.notes(),
    )


def _processes(slices: Slices, pids: list[int], traced: list[int] | None) -> list[SwitchProcess]:
    return [
        SwitchProcess(
            pid=pid,
            slices=int((slices.process == i).sum()),
            ran_ns=int(slices.ran_ns[slices.process == i].sum()),
            traced_slices=traced[i] if traced else None,
        )
        for i, pid in enumerate(pids)
    ]


def _figures(length: Times) -> dict[str, int]:
    shares = percentiles_ns(length, tuple(_SHARES.values()))
    middle = dict(zip(_SHARES, shares, strict=True))
    return {
        "min": int(length.min()),
        **middle,
        "max": int(length.max()),
        "mean": round(float(length.mean())),
    }


def _histogram(length: Times) -> dict[str, int]:
    buckets, counts = np.unique(bucket_of(length.astype(np.uint64)), return_counts=True)
    return {str(b): n for b, n in zip(buckets.tolist(), counts.tolist(), strict=True)}
