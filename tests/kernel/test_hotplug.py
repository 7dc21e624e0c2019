"""CPUs go offline and come back while noisetop runs: it goes on, and says so."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from noisetop.counters.losses import LOSSES
from noisetop.counters.offline_cpus import OFFLINE, OfflineInterval
from noisetop.machine import system
from noisetop.recording.open import open_recording
from noisetop.recording.recording import Recording
from noisetop.summary.recorded import summary_of
from tests.kernel.forked import fork, started
from tests.kernel.program import PATIENCE_S, read, wait_for

pytestmark = pytest.mark.kernel

CPU = max(system.online_cpus())
SWITCH = Path(f"/sys/devices/system/cpu/cpu{CPU}/online")
SPIN = "while True: pass"
# The kernel tells of a CPU after it is gone; a slow machine takes its time to write to us.
TOLD_WITHIN_NS = 2_000_000_000


def switch(*, online: bool) -> None:
    SWITCH.write_text("1" if online else "0")
    assert (CPU in system.online_cpus()) == online


@pytest.fixture(autouse=True)
def back_in_the_end() -> Iterator[None]:
    if not SWITCH.exists() or CPU == 0:
        pytest.skip(f"CPU {CPU} cannot be taken offline here")
    try:
        yield
    finally:
        if CPU not in system.online_cpus():
            switch(online=True)


@pytest.fixture
def victim() -> Iterator[int]:
    """Wants the CPU all the time; the kernel takes it elsewhere when that is offline."""
    with subprocess.Popen([sys.executable, "-c", SPIN]) as process:
        os.sched_setaffinity(process.pid, {CPU})
        yield process.pid
        process.kill()


def stop(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE_S)  # its last line may be longer than a pipe
    assert process.returncode == 0


def off_and_on() -> tuple[int, int]:
    """Moments between which the CPU was surely offline."""
    switch(online=False)
    gone_ns = time.monotonic_ns()
    time.sleep(0.2)
    back_ns = time.monotonic_ns()
    switch(online=True)
    return gone_ns, back_ns


def rows_during(recording: Recording, start_ns: int, end_ns: int) -> int:
    """Interruptions of the CPU that have a part in the period."""
    count = 0
    for chunk in recording.chunks():
        ends = chunk["start_ns"] + chunk["gross_ns"]
        inside = (chunk["start_ns"] < end_ns) & (ends > start_ns) & (chunk["cpu"] == CPU)
        count += int(np.count_nonzero(inside))
    return count


def rows_after(recording: Recording, start_ns: int) -> int:
    return rows_during(recording, start_ns, recording.end_ns)


@pytest.mark.usefixtures("victim")
def test_a_recording_tells_when_a_cpu_was_offline(tmp_path: Path) -> None:
    path = tmp_path / "a.noisetop"
    with started("record", "-c", f"{CPU}", "-o", path, until="recording") as process:
        gone_ns, back_ns = off_and_on()
        time.sleep(0.3)
        stop(process)
    recording = open_recording(path)
    summary = summary_of(recording)
    (absence,) = summary.counters.of(OFFLINE)
    assert absence.cpu == CPU
    assert absence.watched
    assert absence.from_ns is not None
    assert absence.until_ns is not None
    assert gone_ns - TOLD_WITHIN_NS < absence.from_ns < gone_ns + TOLD_WITHIN_NS
    assert back_ns < absence.until_ns < back_ns + TOLD_WITHIN_NS
    assert rows_during(recording, gone_ns, back_ns) == 0, "an offline CPU runs nothing"
    assert rows_during(recording, recording.start_ns, gone_ns) > 0
    assert rows_after(recording, back_ns) > 0, "tracing goes on when the CPU is back"
    for cpu in summary.cpus:
        assert cpu.noise_ns + cpu.idle_ns <= summary.duration_ns - (back_ns - gone_ns)
    assert summary.counters.of(LOSSES).total == 0
    reported = read("report", path).stdout
    assert re.search(rf"(?m)^offline +CPU {CPU} was offline$", reported)
    assert "CPUs that were offline" in reported


def test_a_recording_that_is_cut_short_tells_it_too(tmp_path: Path) -> None:
    path = tmp_path / "a.noisetop"
    partial = tmp_path / "a.noisetop.partial"

    def absences() -> tuple[OfflineInterval, ...]:
        return open_recording(partial).counters.of(OFFLINE)

    with started("record", "-c", f"{CPU}", "-o", path, until="recording") as process:
        switch(online=False)
        wait_for(lambda: bool(absences()), "the note in the file")
        process.kill()
        process.wait()
    recording = open_recording(partial)
    assert recording.damage
    assert [(one.cpu, one.until_ns) for one in recording.counters.of(OFFLINE)] == [(CPU, None)]


def test_the_live_view_goes_on_and_says_it() -> None:
    with fork("top", "-c", f"{CPU}", "--json", "0.2") as process:
        assert process.stdout

        def next_state() -> list[object]:
            assert process.stdout
            return [
                one["until_ns"]
                for one in json.loads(process.stdout.readline())["offline_intervals"]
            ]

        assert next_state() == []
        switch(online=False)
        wait_for(lambda: next_state() == [None], "the word that it is offline")
        switch(online=True)
        wait_for(lambda: next_state() == [], "the word that it is back")
        stop(process)


def test_its_own_threads_go_back_to_where_they_keep_house(tmp_path: Path) -> None:
    """The kernel lets threads whose CPUs are all offline run anywhere, and leaves it at that."""
    others = [cpu for cpu in system.online_cpus() if cpu != CPU]
    command = ("record", "-c", f"{others[0]}", "-H", f"{CPU}", "-o", tmp_path / "a.noisetop")

    def cpus_of(process: subprocess.Popen[str]) -> set[frozenset[int]]:
        tasks = Path(f"/proc/{process.pid}/task").iterdir()
        return {frozenset(os.sched_getaffinity(int(task.name))) for task in tasks}

    with started(*command, until="recording") as process:
        assert cpus_of(process) == {frozenset({CPU})}
        off_and_on()
        wait_for(lambda: cpus_of(process) == {frozenset({CPU})}, "its threads to be at home")
        stop(process)
