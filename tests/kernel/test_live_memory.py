"""Tasks under ever new names: what a live view remembers is bounded, and no sum changes."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator

import pytest

from noisetop.counters.losses import LOSSES
from noisetop.events.interruption import OTHER
from noisetop.live.feed import TracerFeed
from noisetop.machine import affinity, system
from noisetop.tracing.stopper import Stopper
from noisetop.tracing.target import Target
from noisetop.tracing.tracer import Tracer

pytestmark = pytest.mark.kernel

CPU = max(system.online_cpus())
STORM = f"""
import ctypes, os, itertools
os.sched_setaffinity(0, {{{CPU}}})
prctl = ctypes.CDLL(None).prctl
for number in itertools.count():
    if not os.fork():
        prctl(15, b"storm-%d" % number)
        os.sched_yield()
        os._exit(0)
    os.wait()
    if os.getppid() == 1:
        break
"""


@contextlib.contextmanager
def storm() -> Iterator[None]:
    process = subprocess.Popen([sys.executable, "-c", STORM])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def test_names_without_end_are_told_as_one() -> None:
    stopper = Stopper()
    with storm(), Tracer(Target((CPU,)), housekeeping=affinity.choose((CPU,))) as tracer:
        tracer.start_window()
        feed = TracerFeed(tracer, stopper, 200_000_000)
        noise_ns = most = others = 0
        while others < 700:
            sample = feed.next()
            [interval], [total] = sample.interval.cpus, sample.total.cpus
            noise_ns += interval.noise_ns
            told = sample.total.victims, sample.total.waits
            assert max(map(len, told)) <= 400
            assert all(one.time.adds_up() for one in sample.total.victims)
            most = max(most, len(total.sources), len(tracer.reader.namer.sources))
            folded = [one for one in total.sources if one.source.path == ("thread", OTHER)]
            others = sum(one.count for one in folded)
        assert most < 1_500
        stopper.stop()
        last = feed.next()
        assert last.ended
        # What is open when a period ends is told, and has no end where its switch is hidden.
        hidden = sum(cpu["switch"] for cpu in last.total.counters.of(LOSSES).by_cpu.values())
        told_ns, total_ns = noise_ns + last.interval.noise_ns, last.total.noise_ns
        assert total_ns <= told_ns <= total_ns * (1.05 if hidden else 1)
    stopper.close()
