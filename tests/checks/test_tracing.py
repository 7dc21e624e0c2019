"""Other tracers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.trees import FAIL, PASS, SKIP, WARN, Case, Link, task

CASES = [
    Case(
        "C44",
        PASS,
        "This machine has no tracer or profiler running",
        {"/proc/500/fd/0": Link("/dev/null"), "/proc/1/fd/0": Link("/dev/null")},
    ),
    Case(
        "C44",
        FAIL,
        "tracer is on (function)",
        {"/sys/kernel/tracing/current_tracer": "function"},
        command="echo nop > /sys/kernel/tracing/current_tracer",
        undo="echo function >",
    ),
    Case(
        "C44",
        WARN,
        "Trace events are enabled and slow down what they record",
        {"/sys/kernel/tracing/events/enable": "X"},
    ),
    Case(
        "C44",
        WARN,
        "perf (90) performance counters",
        {**task(90, "perf", "0"), "/proc/90/fd/4": Link("anon_inode:[perf_event]")},
    ),
    Case(
        "C44",
        WARN,
        "bpftrace (90) BPF tracing",
        {
            **task(90, "bpftrace", "0"),
            "/proc/90/fd/4": Link("anon_inode:bpf_link"),
            "/proc/90/fdinfo/4": "link_type:\ttracing\n",
        },
    ),
    Case(
        "C44",
        PASS,
        "This machine has no tracer or profiler running",
        {
            **task(90, "systemd", "0"),
            "/proc/90/fd/4": Link("anon_inode:bpf_link"),
            "/proc/90/fdinfo/4": "link_type:\tcgroup\n",
        },
    ),
    Case("C44", SKIP, "does not exist", {"/sys/kernel/tracing/": None}),
    Case("C44", SKIP, "open files of other programs are hidden: run as root", {"/proc/2/": None}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.check}-{case.status}-{case.says}")
def test_case(case: Case, tmp_path: Path) -> None:
    case.verify(tmp_path)
