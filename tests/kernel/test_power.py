"""Moments at which software changes the clock of CPUs: the programs run as their tracepoints would
run them, because no machine changes its clock for a test."""

from __future__ import annotations

import ctypes
import os
import re
import threading
from pathlib import Path

import pytest

from noisetop.counters.hardware import HARDWARE
from noisetop.events.interruption import SIDE_LEVEL
from noisetop.machine import system
from noisetop.summary.summarizer import Summarizer
from noisetop.tracing.target import Target
from noisetop.tracing.tracer import Tracer
from tests.kernel.program import bpftool

pytestmark = pytest.mark.kernel

CPUS = system.online_cpus()
TRACEPOINTS = {
    "power_frequency": "cpu_frequency",
    "power_limits": "cpu_frequency_limits",
    "power_trip": "thermal_zone_trip",
    "power_cooling": "cdev_update",
}
KHZ = 2_400_000
NOWHERE = max(CPUS) + 1


def known_to_the_kernel() -> set[str]:
    """Those of the tracepoints that its BTF describes."""
    content = Path("/sys/kernel/btf/vmlinux").read_bytes()
    return {name for name in TRACEPOINTS.values() if f"\0btf_trace_{name}\0".encode() in content}


class RunOptions(ctypes.Structure):
    """struct bpf_test_run_opts (bpf/bpf.h)."""

    _fields_ = (
        ("sz", ctypes.c_size_t),
        ("data_in", ctypes.c_void_p),
        ("data_out", ctypes.c_void_p),
        ("data_size_in", ctypes.c_uint32),
        ("data_size_out", ctypes.c_uint32),
        ("ctx_in", ctypes.c_void_p),
        ("ctx_out", ctypes.c_void_p),
        ("ctx_size_in", ctypes.c_uint32),
        ("ctx_size_out", ctypes.c_uint32),
        ("retval", ctypes.c_uint32),
        ("repeat", ctypes.c_int),
        ("duration", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("cpu", ctypes.c_uint32),
    )


def run_program(name: str, *values: int) -> None:
    """Once, with these arguments; bpftool asks for more than the kernel does for these programs."""
    (number,) = re.findall(rf"(?m)^(\d+): \w+ +name {name} ", bpftool("prog", "list"))
    libbpf = ctypes.CDLL("libbpf.so.1", use_errno=True)
    arguments = (ctypes.c_uint64 * len(values))(*values)
    options = RunOptions(
        sz=ctypes.sizeof(RunOptions),
        ctx_in=ctypes.addressof(arguments),
        ctx_size_in=ctypes.sizeof(arguments),
    )
    fd = libbpf.bpf_prog_get_fd_by_id(ctypes.c_uint32(int(number)))
    assert fd >= 0, os.strerror(ctypes.get_errno())
    try:
        error = libbpf.bpf_prog_test_run_opts(fd, ctypes.byref(options))
        assert not error, os.strerror(-error)
    finally:
        os.close(fd)


def test_what_the_kernel_offers_is_attached_and_the_rest_is_missing() -> None:
    with Tracer(Target(CPUS[-1:]), samples_cost=False) as tracer:
        missing = {name for name in TRACEPOINTS.values() if name in tracer.unavailable()}
        attached = bpftool("prog", "list")
    assert missing == set(TRACEPOINTS.values()) - known_to_the_kernel()
    for program, tracepoint in TRACEPOINTS.items():
        assert (f"name {program} " in attached) is (tracepoint not in missing)


@pytest.mark.skipif(
    known_to_the_kernel() != set(TRACEPOINTS.values()), reason="needs all these tracepoints"
)
def test_moments_are_counted_and_recorded_as_instants() -> None:
    cpu, times = CPUS[-1], 3
    with Tracer(Target((cpu,)), housekeeping=CPUS[:1], samples_cost=False) as tracer:
        tracer.start_window()
        for _ in range(times):
            run_program("power_frequency", KHZ, cpu)
        run_program("power_frequency", KHZ // 2, cpu)
        run_program("power_frequency", KHZ, NOWHERE)
        for name in ("power_limits", "power_trip", "power_trip", "power_cooling"):
            run_program(name, 0, 0)
        tracer.stop_window()
        table, sources = tracer.read(), tracer.reader.namer.sources
        period_ns = tracer.start_ns, tracer.end_ns
    instants = table[table["level"] == SIDE_LEVEL]
    found: dict[tuple[str, ...], int] = {}
    for row in instants:
        path = sources[row["source"]].path
        found[path] = found.get(path, 0) + 1
    assert found == {
        ("hardware", "frequency", "2400 MHz"): times,
        ("hardware", "frequency", "1200 MHz"): 1,
        ("hardware", "frequency_limits"): 1,
        ("hardware", "thermal_trip"): 2,
        ("hardware", "cooling"): 1,
    }
    assert not instants["gross_ns"].any()
    assert set(instants["tid"]) == {threading.get_native_id()}
    summarizer = Summarizer((cpu,), sources, tracer.reader.join.triggers)
    summarizer.add(table)
    summary = summarizer.summary(*period_ns)
    figures = {(one.cpu, one.path[1]): one.count for one in summary.counters.of(HARDWARE).figures}
    assert figures == {
        (cpu, "frequency"): times + 1,
        (None, "frequency_limits"): 1,
        (None, "thermal_trip"): 2,
        (None, "cooling"): 1,
    }
    assert all(one.resolution for one in summary.counters.of(HARDWARE).figures)
    assert [one.cpu for one in summary.cpus] == [cpu]
    assert not any(one.source.noise_class == "hardware" for one in summary.cpus[0].sources)
