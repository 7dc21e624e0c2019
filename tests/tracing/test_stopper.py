from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from noisetop.tracing.stopper import Stopper, catch_signals

FAR_NS = 60_000_000_000


@pytest.fixture
def stopper() -> Iterator[Stopper]:
    one = Stopper()
    yield one
    one.close()


def test_the_duration_ends_it(stopper: Stopper) -> None:
    stopper.duration_ns = 10_000_000
    stopper.start()
    assert stopper.wait_until(time.monotonic_ns() + FAR_NS)
    assert stopper.reason == ""


def test_a_moment_that_passes_does_not_end_it(stopper: Stopper) -> None:
    assert not stopper.wait_until(time.monotonic_ns() + 1_000_000)


def test_stop_from_another_thread_ends_the_wait(stopper: Stopper) -> None:
    threading.Timer(0.01, stopper.stop, args=("enough",)).start()
    assert stopper.wait_until(time.monotonic_ns() + FAR_NS)
    assert stopper.reason == "enough"


def test_wake_ends_the_wait_but_not_the_run(stopper: Stopper) -> None:
    threading.Timer(0.01, stopper.wake).start()
    assert not stopper.wait_until(time.monotonic_ns() + FAR_NS)


def test_the_end_of_the_process_ends_it() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    one = Stopper(pidfds=[os.pidfd_open(process.pid)], process="PID 1 (x)")
    assert one.wait_until(time.monotonic_ns() + FAR_NS)
    assert one.reason == "PID 1 (x) exited"
    process.wait()
    one.close()


def test_of_several_processes_the_last_one_ends_it() -> None:
    short, long = (subprocess.Popen(["sleep", time_s]) for time_s in ("0", "60"))
    one = Stopper(pidfds=[os.pidfd_open(process.pid) for process in (short, long)], process="they")
    while len(one.pidfds) > 1:
        assert not one.wait_until(time.monotonic_ns() + FAR_NS)
    long.kill()
    assert one.wait_until(time.monotonic_ns() + FAR_NS)
    assert one.reason == "they exited"
    for process in (short, long):
        process.wait()
    one.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_end_it_and_are_given_back(stopper: Stopper, number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with catch_signals(stopper):
        os.kill(os.getpid(), number)
        assert stopper.wait_until(time.monotonic_ns() + FAR_NS)
    assert signal.getsignal(number) is before


def test_a_moment_beyond_what_poll_takes(stopper: Stopper) -> None:
    threading.Timer(0.01, stopper.stop, args=("enough",)).start()
    assert stopper.wait_until(time.monotonic_ns() + 365 * 24 * 3_600 * 10**9)
    assert stopper.reason == "enough"


def test_under_nohup_it_goes_on_when_the_terminal_is_closed(stopper: Stopper) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with catch_signals(stopper):
            signal.raise_signal(signal.SIGHUP)
            assert not stopper.stopped
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
