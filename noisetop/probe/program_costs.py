"""What a run of each BPF program takes on this machine, by the kernel's statistics of them.

The programs run under loads that are made for it on CPUs where no victim runs: a thread spins and
is interrupted on purpose, and packets go over loopback, each with a softirq. The statistics are
those of all CPUs, and a program that runs on a CPU that is not watched leaves at once. So what
happened without a load is taken off.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from noisetop.events.symbols import SymbolTable
from noisetop.machine import affinity
from noisetop.probe.sampler import Disturb, SpinProcess, clock_pair
from noisetop.tracing.program_sets import ProgramSet
from noisetop.tracing.target import Target
from noisetop.tracing.tracer import Tracer, program_names

_SLICE_S = 0.005
_SLICES, _IDLE_SLICES, _PACKET_SLICES = 6, 2, 4
"""The median of some slices, as the time that a hypervisor takes in a run counts as the run's."""
_FEWEST_SLICES, _MOST_SLICES = 3, 60
_FEWEST_RUNS, _OWN_SHARE = 10, 0.5
"""In a slice, and of all runs in it, at least: what others do is not the same in each slice."""
_SPIN_NS, _TIMER_NS = 40_000, 10_000
_SEND_NS = 100_000
_LOOPS = 8
_PATIENCE_NS = 10_000_000_000
_RING_RECORDS = 1 << 12
_SWITCH = "thread_switch"
"""Tells the others who the victim is."""


Runs = Mapping[str, tuple[int, int]]
"""By program: how often it ran, and for how many ns."""


@dataclass(frozen=True, slots=True)
class Slice:
    """What the statistics counted in a stretch of time."""

    duration_ns: int
    runs: Runs


def program_costs(
    programs: Collection[str],
    sent: Collection[str],
    cpu: int,
    cpus: Sequence[int],
    symbols: SymbolTable,
) -> dict[str, float | None]:
    """ns per run of those of the programs that this kernel takes; None: it did not run often.

    Takes 0.2 to 0.4 s, and longer where others keep the load from running. Interrupts ``cpu``, and
    for the programs in ``sent`` does so from another of ``cpus``; without one they are not
    measured. Raises NoisetopError.
    """
    others = tuple(one for one in cpus if one != cpu)
    own = others or (cpu,)
    affinity.bind(own)
    left_out = tuple(name for name in program_names() if name not in {*programs, _SWITCH})
    with (
        SpinProcess(
            (cpu,),
            disturb=Disturb.TIMER | Disturb.CALL if others else Disturb.TIMER,
            sender_cpu=own[0],
            send_ns=_SEND_NS,
            timer_ns=_TIMER_NS,
        ) as process,
        Tracer(
            Target(tuple(cpus), title="budget"),
            ring_records=_RING_RECORDS,
            programs=ProgramSet(left_out),
            housekeeping=own,
            symbols=symbols,
            samples_cost=False,
        ) as tracer,
        tracer.statistics(),
    ):
        idle = list(_slices(tracer, _IDLE_SLICES))
        _begin(process)
        interrupted = list(_slices(tracer, _SLICES))
        while len(interrupted) < _MOST_SLICES and not settled(idle, interrupted, programs):
            interrupted += _slices(tracer, _SLICES)
        process.stop()
        idle += _slices(tracer, _IDLE_SLICES)
        sending = list(_slices(tracer, _PACKET_SLICES, _send_packets))
    costs = costs_of(idle, interrupted, programs)
    for name, ns in costs_of(idle, sending, programs).items():
        costs[name] = costs[name] if ns is None else ns
    return costs if others else {**costs, **dict.fromkeys(costs.keys() & sent)}


def _send_packets(seconds: float) -> None:
    """To nobody, from the CPU that this thread runs on. Nothing where there is no loopback."""
    until_ns = time.monotonic_ns() + round(seconds * 1e9)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        try:
            sender.bind(("127.0.0.1", 0))
            while time.monotonic_ns() < until_ns:
                sender.sendto(b"", sender.getsockname())
        except OSError:
            return


def _begin(process: SpinProcess) -> None:
    first = clock_pair()
    time.sleep(_SLICE_S)
    second = clock_pair()
    rate = (second.before_ticks - first.before_ticks) / (second.ns - first.ns)
    for tid in process.tids:  # which may share its CPU with us
        os.setpriority(os.PRIO_PROCESS, tid, 0)
    process.begin(
        second.after_ticks,
        second.after_ticks + round(_PATIENCE_NS * rate),
        _LOOPS * process.loop_ticks,
        busy_ticks=max(round(_SPIN_NS * rate), 1),
    )


def _slices(
    tracer: Tracer, count: int, during: Callable[[float], None] = time.sleep
) -> Iterator[Slice]:
    before_ns, before = time.monotonic_ns(), tracer.program_runs()
    for _ in range(count):
        during(_SLICE_S)
        now_ns, now = time.monotonic_ns(), tracer.program_runs()
        runs = {
            name: (run_count - before[name][0], run_ns - before[name][1])
            for name, (run_count, run_ns) in now.items()
        }
        yield Slice(now_ns - before_ns, runs)
        before_ns, before = now_ns, now


def costs_of(
    idle: Sequence[Slice], loaded: Sequence[Slice], programs: Collection[str]
) -> dict[str, float | None]:
    """See program_costs(). ``idle`` are the slices without the load, and there is one at least."""
    return {
        name: median(found) if len(found) >= _FEWEST_SLICES else None
        for name, found in _found(idle, loaded, programs)
    }


def settled(idle: Sequence[Slice], loaded: Sequence[Slice], programs: Collection[str]) -> bool:
    """Whether more slices would tell no more programs: the load ran, and what it did not make run
    in three slices it made run in none."""
    counts = {len(found) for _, found in _found(idle, loaded, programs)}
    return max(counts, default=0) >= _FEWEST_SLICES and not counts & set(range(1, _FEWEST_SLICES))


def _found(
    idle: Sequence[Slice], loaded: Sequence[Slice], programs: Collection[str]
) -> Iterator[tuple[str, list[float]]]:
    """By program: ns per run in each slice that tells it."""
    for name in idle[0].runs:
        if name in programs:
            yield name, _in_slices(name, idle, loaded)


def _in_slices(name: str, idle: Sequence[Slice], loaded: Sequence[Slice]) -> list[float]:
    idle_runs, idle_ns = (
        median(one.runs[name][which] / one.duration_ns for one in idle) for which in range(2)
    )
    found = []
    for one in loaded:
        runs, took_ns = one.runs[name]
        own_runs = runs - idle_runs * one.duration_ns
        own_ns = took_ns - idle_ns * one.duration_ns
        if own_runs >= max(_FEWEST_RUNS, _OWN_SHARE * runs) and own_ns > 0:
            found.append(own_ns / own_runs)
    return found
