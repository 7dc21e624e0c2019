"""Live samples tell who has the CPU while a victim waits, before that has ended."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator

import pytest

from noisetop.live.feed import TracerFeed
from noisetop.live.sample import Sample
from noisetop.machine import affinity, system
from noisetop.tracing.stopper import Stopper
from noisetop.tracing.target import Target
from noisetop.tracing.tracer import Tracer

pytestmark = pytest.mark.kernel

CPU = max(system.online_cpus())
INTERVAL_NS = 200_000_000
SAMPLES = 5
VICTIM = """
import os, sys, time
os.sched_setaffinity(0, {%d})
print(flush=True)
sys.stdin.readline()
time.sleep(0.2)
end = time.monotonic() + 2
while time.monotonic() < end:
    pass
"""
HOG = """
import os, time
from pathlib import Path
Path("/proc/self/comm").write_text("hog")
os.sched_setaffinity(0, {%d})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
print(flush=True)
end = time.monotonic() + 1.5
while time.monotonic() < end:
    pass
"""


@contextlib.contextmanager
def started(program: str) -> Iterator[subprocess.Popen[bytes]]:
    """Runs until the end of the context; it is ready now."""
    process = subprocess.Popen(
        [sys.executable, "-c", program % CPU], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def samples_beside_a_hog() -> tuple[int, list[Sample]]:
    """The victim falls asleep, and when it wakes up another task has the CPU and keeps it."""
    stopper = Stopper()
    with contextlib.ExitStack() as stack:
        stack.callback(stopper.close)
        victim = stack.enter_context(started(VICTIM))
        target = Target((CPU,), pid=victim.pid)
        tracer = stack.enter_context(Tracer(target, housekeeping=affinity.choose((CPU,))))
        tracer.start_window()
        feed = TracerFeed(tracer, stopper, INTERVAL_NS)
        assert victim.stdin is not None
        victim.stdin.write(b"\n")
        victim.stdin.flush()
        stack.enter_context(started(HOG))
        samples = [feed.next() for _ in range(SAMPLES)]
        stopper.stop()
        return victim.pid, [*samples, feed.next()]


@pytest.mark.skipif(len(system.online_cpus()) < 2, reason="takes a CPU that is not watched")
def test_who_came_before_the_wait_is_named_in_each_sample() -> None:
    tid, samples = samples_beside_a_hog()
    contention: Counter[str] = Counter()
    delay_ns = unattributed_ns = 0
    for sample in samples:
        for one in sample.interval.victims:
            if one.time.tid != tid:
                continue
            assert one.time.adds_up()
            delay_ns += one.time.delay_ns
            unattributed_ns += one.time.unattributed_ns
            contention.update({who.path[-1]: ns for who, ns in one.time.contention.items()})
    # It has the CPU for nearly all of the time, but for what the scheduler reserves for others.
    assert delay_ns > SAMPLES * INTERVAL_NS // 3
    assert contention["hog"] > 0.9 * delay_ns, contention
    assert unattributed_ns < 0.02 * delay_ns
