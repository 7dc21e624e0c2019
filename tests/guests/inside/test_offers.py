"""What this kernel offers to noisetop, against what is known of it. Runs inside a guest."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from noisetop.machine import system
from noisetop.text.cpu_list import format_cpu_list
from noisetop.tracing.target import Target
from noisetop.tracing.tracer import Tracer
from tests.guests.catalogue import ISOLATED, KERNELS, UNSAFE
from tests.kernel.loads import prepared
from tests.kernel.tracing import trace

pytestmark = pytest.mark.kernel

KERNEL = next(kernel for kernel in KERNELS if kernel.name == os.environ["NOISETOP_KERNEL"])
CPUS = system.online_cpus()
CPU = max(CPUS)


def threads() -> set[str]:
    names = set()
    for path in Path("/proc").glob("[0-9]*/comm"):
        try:
            names.add(path.read_text().strip())
        except FileNotFoundError:  # gone meanwhile
            continue
    return names


def test_two_cores_are_isolated() -> None:
    assert format_cpu_list(system.isolated_cpus()) == ISOLATED
    full = format_cpu_list(system.nohz_full_cpus())
    assert full == (ISOLATED if KERNEL.stops_ticks else "")


def test_what_is_missing_is_what_is_known_to_be() -> None:
    with Tracer(Target((CPU,)), housekeeping=(min(CPUS),)) as tracer:
        missing = tracer.unavailable()
    facts = {"release": os.uname().release, "missing": missing, "realtime": KERNEL.realtime}
    Path(os.environ["NOISETOP_FACTS"]).write_text(json.dumps(facts))
    assert sorted(name.split()[0] for name in missing) == sorted(KERNEL.lacks)
    assert all("without end" in name for name in missing if name.split()[0] in UNSAFE)


def test_realtime_is_what_is_known_to_be() -> None:
    realtime = Path("/sys/kernel/realtime")
    assert KERNEL.realtime == (realtime.exists() and realtime.read_text().strip() == "1")
    assert KERNEL.realtime == ({f"ktimers/{CPU}", f"rcuc/{CPU}"} <= threads())
    assert not KERNEL.realtime or any(name.startswith("irq/") for name in threads())


def test_timers_of_the_softirq_run_where_this_kernel_runs_them() -> None:
    """In the softirq on top of the task, or on PREEMPT_RT in a thread of their own."""
    with prepared(CPU, min(CPUS), "timerfd:200:100") as load:
        traced = trace(Target((CPU,)), load.run)
    paths = {traced.sources[i].path for i in np.unique(traced.table["source"]).tolist()}
    threaded = {path for path in paths if path[:2] == ("thread", f"ktimers/{CPU}")}
    inline = {path for path in paths if path[:2] in (("softirq", "TIMER"), ("softirq", "HRTIMER"))}
    assert bool(threaded) == KERNEL.realtime, paths
    assert not (KERNEL.realtime and inline), paths
