"""Other tracers and profilers."""

from __future__ import annotations

import os
import re

from noisetop.checks import remedy
from noisetop.checks.audited import AuditedMachine
from noisetop.checks.result import Verdict, check, passed
from noisetop.checks.status import Status
from noisetop.machine.machine import quoted
from noisetop.machine.reading import CannotTellError, Reading

_PLACES = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")
_TRACING_LINKS = re.compile(
    r"link_type:\s*(tracing|raw_tracepoint|perf_event|kprobe_multi|uprobe_multi)"
)


def _holders(machine: AuditedMachine) -> list[str]:
    """Processes that hold performance counters or BPF programs for tracing open."""
    found = []
    for file in machine.open_files:
        if file.pid == os.getpid():
            continue
        if "perf_event" in file.target:
            found.append(f"{file.label} performance counters")
        elif "bpf" in file.target and "link" in file.target:
            info = machine.read(file.path.replace("/fd/", "/fdinfo/")).text
            if _TRACING_LINKS.search(info):
                found.append(f"{file.label} BPF tracing")
    return list(dict.fromkeys(found))


@check(
    "C44",
    "tracers",
    question="Is this machine free of tracers and profilers?",
    reads=(f"{_PLACES[0]}/current_tracer", f"{_PLACES[0]}/events/enable", "/proc/*/fd"),
    expected="the tracer nop, no event enabled, no performance counter open",
    why="Tracing slows down each traced step; sampling interrupts, and can keep the tick running "
    "on every CPU.",
    fix="stop the tracer or profiler; echo nop > current_tracer",
    explains=(
        ("nmi", "perf_event_nmi_handler"),
        ("ipi", "*", "do_sync_core"),
        ("ipi", "*", "remote_function"),
        ("timer", "*", "perf_mux_hrtimer_handler"),
    ),
    sources="pyperf, kernel/events/core.c",
)
def tracers(machine: AuditedMachine) -> Verdict:
    """ftrace, perf and BPF users."""
    place = next((p for p in _PLACES if machine.read(f"{p}/current_tracer").ok), "")
    current = machine.read(f"{place or _PLACES[0]}/current_tracer")
    events = machine.read(f"{place or _PLACES[0]}/events/enable")
    readings = (current.reading, events.reading)
    if place and current.text not in ("nop", ""):
        return Verdict(
            Status.FAIL,
            f"A kernel tracer is on ({current.text}) and slows down what it traces",
            readings,
            remedy=remedy.write(current, "nop"),
        )
    holders = _holders(machine)
    if holders:
        cause = "Others trace or profile this machine: " + quoted(holders, most=4)
        return Verdict(Status.WARN, cause, (*readings, Reading("/proc/*/fd", holders[0])))
    if events.text in ("1", "X"):
        cause = "Trace events are enabled and slow down what they record"
        fix = remedy.write(events, "0", undo="1") if events.text == "1" else None
        return Verdict(Status.WARN, cause, readings, remedy=fix)
    unreadable = next((file for file in (current, events) if not file.ok), None)
    if unreadable:
        raise CannotTellError(f"{unreadable.path} {unreadable.why}", *readings)
    if machine.open_files_hidden:
        raise CannotTellError("open files of other programs are hidden: run as root", *readings)
    return passed("This machine has no tracer or profiler running", *readings)
