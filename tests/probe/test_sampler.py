"""The spinning process: no privilege needed for what is tested here."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from noisetop.errors import NoisetopError
from noisetop.machine.system import read_text
from noisetop.probe.priority import parse_priority
from noisetop.probe.sampler import (
    ANY_CPU,
    NAME,
    Disturb,
    SpinProcess,
    clock_pair,
    measure_memory,
)

CPU = max(os.sched_getaffinity(0))
PATIENCE_S = 30
NEVER = (1 << 63) - 1


def spin(
    process: SpinProcess, ms: int, threshold_ns: int = 200, busy: tuple[int, int] = (0, 0)
) -> None:
    """Lets it spin that long, to its end."""
    first = clock_pair()
    time.sleep(0.01)
    second = clock_pair()
    rate = (second.before_ticks - first.before_ticks) / (second.ns - first.ns)
    begin = second.after_ticks
    threshold, longer, active = (round(ns * rate) for ns in (threshold_ns, 1_000, busy[0]))
    process.begin(begin, begin + round(ms * 1e6 * rate), threshold, longer, active, busy[1])
    wait_until_done(process)


def wait_until_done(process: SpinProcess) -> None:
    end = time.monotonic() + PATIENCE_S
    while not process.done():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_gaps_are_in_order_and_inside_the_run() -> None:
    with SpinProcess((CPU,)) as process:
        spin(process, 200)
        [found] = process.results()
    assert found.cpu == CPU
    assert found.loops > 1_000
    assert (found.ends > found.starts).all()
    assert (found.starts[1:] >= found.ends[:-1]).all()
    assert ((found.ends - found.starts) >= found.threshold_ticks).all()
    if len(found.starts):
        assert found.starts[0] >= found.first_ticks
        assert found.ends[-1] <= found.last_ticks
    assert found.active_ticks == found.last_ticks - found.first_ticks
    assert found.began.ns < found.ended.ns
    assert 0 < found.loop_ticks < 4096
    assert found.loop_ticks % found.resolution_ticks == 0


def test_several_threads_are_one_process_with_a_name() -> None:
    with SpinProcess((CPU, ANY_CPU)) as process:
        assert len(set(process.tids)) == 2
        for tid in process.tids:
            assert Path(f"/proc/{process.pid}/task/{tid}/comm").read_text().strip() == NAME
        assert os.sched_getaffinity(process.tids[0]) == {CPU}
        spin(process, 50)
        assert [one.tid for one in process.results()] == list(process.tids)


def test_gaps_that_find_no_room_are_counted_with_their_time() -> None:
    with SpinProcess((CPU,), capacity=8) as process:
        spin(process, 200, threshold_ns=1)  # every loop is a gap
        [found] = process.results()
    stored = int((found.ends - found.starts).sum())
    assert len(found.starts) <= 8
    assert found.unstored_count > 0
    assert stored + found.unstored_ticks <= found.active_ticks
    assert len(found.starts) + found.unstored_count <= found.loops


def test_a_duty_cycle_sleeps_and_calls_no_sleep_a_gap() -> None:
    with SpinProcess((CPU,)) as process:
        spin(process, 200, busy=(5_000_000, 15_000_000))
        [found] = process.results()
    assert found.sleeps >= 2
    assert found.active_ticks < (found.last_ticks - found.first_ticks)
    assert int((found.ends - found.starts).sum()) <= found.active_ticks


def test_stop_ends_the_loop() -> None:
    with SpinProcess((CPU,)) as process:
        process.begin(1, NEVER, NEVER)
        assert not process.done()
        process.stop()
        wait_until_done(process)


def test_a_killed_process_is_an_error() -> None:
    with SpinProcess((CPU,)) as process:
        process.begin(1, NEVER, NEVER)
        os.kill(process.pid, signal.SIGKILL)
        with pytest.raises(NoisetopError, match="was killed"):
            wait_until_done(process)


def test_nothing_is_left_behind() -> None:
    with SpinProcess((CPU,)) as process:
        pid = process.pid
        process.begin(1, NEVER, NEVER)
    assert not Path(f"/proc/{pid}").exists()


def test_a_killed_starter_leaves_no_spinning_process() -> None:
    script = (
        "import sys, time; from noisetop.probe.sampler import SpinProcess\n"
        f"with SpinProcess(({CPU},)) as p:\n"
        " p.begin(1, 1 << 62, 1 << 62); print(p.pid, flush=True); time.sleep(60)\n"
    )
    starter = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    with starter:
        assert starter.stdout
        pid = int(starter.stdout.readline())
        starter.kill()
    end = time.monotonic() + PATIENCE_S
    while read_text(Path(f"/proc/{pid}/comm")) == NAME:
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_cpu_that_is_not_there_is_one_line() -> None:
    with pytest.raises(NoisetopError, match="not allowed to run on CPU 4095"):
        SpinProcess((4095,)).__enter__()


@pytest.mark.skipif(os.geteuid() != 0, reason="lowering its own nice value takes root")
def test_a_priority_is_set() -> None:
    with SpinProcess((CPU,), parse_priority("o:-5")) as process:
        assert os.getpriority(os.PRIO_PROCESS, process.tids[0]) == -5
    with SpinProcess((CPU,), parse_priority("f:3")) as process:
        assert os.sched_getscheduler(process.tids[0]) == os.SCHED_FIFO


def test_memory_is_measured() -> None:
    times = measure_memory(CPU, -1, 1 << 20, 3)
    assert times.array_bytes == 1 << 20
    for one in (times.copy, times.scale, times.add, times.triad, times.access):
        assert len(one) == 3
        assert all(value > 0 for value in one)


def test_memory_of_a_node_that_is_not_there_is_one_line() -> None:
    with pytest.raises(NoisetopError, match="node 1023"):
        measure_memory(CPU, 1023, 1 << 20, 1)


def test_faults_and_timers_are_gaps_of_a_thread_that_is_disturbed() -> None:
    with SpinProcess((CPU,), disturb=Disturb.FAULT | Disturb.TIMER) as process:
        spin(process, 200, busy=(1_000_000, 0))
        [found] = process.results()
    assert found.usage.minor_faults > 1
    assert len(found.starts) >= found.usage.minor_faults // 2
    assert found.sleeps == 0


def test_what_disturbs_a_thread_ends_with_it() -> None:
    kinds = Disturb.SLEEP | Disturb.TIMEOUT | Disturb.WAKE | Disturb.CALL
    wanted = {NAME, "noisetop-sleep", "noisetop-expire", "noisetop-wait", "noisetop-send"}
    with SpinProcess((CPU,), disturb=kinds, sender_cpu=min(os.sched_getaffinity(0))) as process:
        tasks = Path(f"/proc/{process.pid}/task")
        until(lambda: {read_text(one / "comm") for one in tasks.iterdir()} == wanted)
        spin(process, 50)
        until(process.ended)


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)
