"""What the BPF programs are said to have cost, beside the kernel's own statistics of them, and how
often a recording is written."""

from __future__ import annotations

import os
import time
from pathlib import Path
from statistics import median

import pytest

from noisetop.counters.overhead import OVERHEAD
from noisetop.input import InputBytes, open_input
from noisetop.machine import system
from noisetop.recording import raw_file
from noisetop.tracing import tracer as tracing
from noisetop.tracing.target import Target
from noisetop.tracing.tracer import Tracer
from tests.kernel import forked
from tests.kernel.loads import stress

pytestmark = pytest.mark.kernel

CPUS = system.online_cpus()
SAMPLE_S = tracing._SAMPLE_S
"""As the program has it."""
SECONDS = 0.5
"""Long beside the time from attaching until the window starts, whose records count as well."""
FACTOR = 3
"""It is sampled before: the same load costs as much later, about."""
FACTOR_OF_TICKS = 6
"""A guest's ticks are few, and its host's ticks come with them or between them: for seconds the
programs of one take 1 µs a record, and then 4 µs."""
RUNS = 3
"""The middle one counts: a host that takes the CPU from a program once has it take ten times as
long in the fifty runs of a sample, which the kernel counts as well."""


@pytest.mark.parametrize(
    ("load", "factor"),
    [
        (("--timer", "1", "--timer-freq", "2000"), FACTOR),
        (("--yield", "2"), FACTOR),
        (("--cpu", "1"), FACTOR_OF_TICKS),
    ],
    ids=["timers", "switches", "ticks"],
)
def test_it_is_about_what_the_kernel_counts(
    load: tuple[str, ...], factor: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracing, "_SAMPLE_S", SAMPLE_S)
    with stress(*load, "--taskset", str(CPUS[-1])):
        ratio = median(said_to_counted() for _ in range(RUNS))
    assert 1 / factor < ratio < factor


def said_to_counted() -> float:
    """What one run says that its programs took, to what the kernel counted meanwhile."""
    with Tracer(Target(CPUS[-1:]), housekeeping=CPUS[:-1]) as tracer:
        stats_fd = tracer._session.enable_stats()
        before_ns, _ = tracer._run_time_and_records()
        tracer.start_window()
        time.sleep(SECONDS)
        tracer.stop_window()
        took_ns = tracer._run_time_and_records()[0] - before_ns
        os.close(stats_fd)
        tracer.read_records()
        cost = tracer.window_counters().of(OVERHEAD)
    assert cost.records > 0
    assert cost.bpf_ns is not None
    return cost.bpf_ns / took_ns


BLOCK_BYTES, BLOCK_NS = 64 << 10, 250_000_000
"""As drain.c has it."""


def test_a_recording_is_written_in_few_blocks(tmp_path: Path) -> None:
    """A write is most of a visit of the rings where little happens."""
    path = tmp_path / "run.noisetop"
    forked.run("record", "-c", str(CPUS[-1]), "-d", "3s", "-o", path)
    with open_input(path, "a recording") as file:
        content = InputBytes(file)
        head, offset, _ = raw_file._read_head(path, content)
        blocks = raw_file._scan(content, offset, raw_file._layout_of(head), False)
    period_ns = int(blocks.said["end_ns"]) - blocks.start_ns
    size = sum(block.size for block in blocks.events)
    # The first and the last are not full, and what is open at the end has one of its own.
    assert 1 < len(blocks.events) <= period_ns / BLOCK_NS + size / BLOCK_BYTES + 3
