"""The flight recorder beside a victim, when something happens at a moment that nobody knows."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from noisetop.counters.losses import LOSSES
from noisetop.machine import system
from noisetop.recording.open import open_recording
from noisetop.summary.worst import WORST_KEPT, summarize_with_worst, with_external
from tests.kernel.loads import Workload
from tests.kernel.program import PATIENCE_S, PROGRAM, bpftool, held, run, started, wait_for
from tests.kernel.provoked import favoured

pytestmark = pytest.mark.kernel

CPU, HOUSE = max(system.online_cpus()), min(system.online_cpus())
SPIKE_NS = 20_000_000
BEFORE_NS, AFTER_NS = 400_000_000, 300_000_000
SPIKE = """
import os, sys, time
open("/proc/self/comm", "w").write("spike'$(x)")
os.sched_setaffinity(0, {%d})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
print("ready", flush=True)
for _ in sys.stdin:
    end = time.monotonic_ns() + %d
    while time.monotonic_ns() < end:
        pass
    print(time.monotonic_ns(), flush=True)
"""


class Spike:
    """A real-time task that takes the CPU of the victim when it is asked to."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def strike(self) -> int:
        """When it ended, CLOCK_MONOTONIC, in ns."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())


@contextlib.contextmanager
def spike() -> Iterator[Spike]:
    process = subprocess.Popen(
        [sys.executable, "-c", SPIKE % (CPU, SPIKE_NS)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        yield Spike(process)
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE_S)


@contextlib.contextmanager
def victim() -> Iterator[Workload]:
    """Never sleeps, under a steady load of interrupts."""
    with favoured(CPU, HOUSE, "membarrier:1000:0") as load:
        load.begin()
        yield load


def recorder_of(
    load: Workload, *options: str | Path
) -> contextlib.AbstractContextManager[subprocess.Popen[str]]:
    """Keeps a little of what happens to the victim."""
    return started(
        "record", "-p", str(load.pid), "-c", str(CPU), "--keep", "400ms", "--after", "300ms",
        *options, until="watching",
    )  # fmt: skip


@contextlib.contextmanager
def recorder(*options: str | Path) -> Iterator[subprocess.Popen[str]]:
    """Beside a victim of its own."""
    with victim() as load, recorder_of(load, *options) as process:
        yield process


def pause(seconds: float) -> None:
    """Time in which only the load happens; what it is is not asserted."""
    time.sleep(seconds)


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, said = process.communicate(timeout=PATIENCE_S)
    return process.returncode, said


def assert_holds_the_spike(path: Path, struck_ns: int) -> None:
    """With what came before and after, and nothing lost that is not told."""
    recording = open_recording(path)
    summary, worst = summarize_with_worst(recording, WORST_KEPT)
    [first, *_] = [
        one for one in with_external(recording, summary, worst)
        if one.interval.start_ns <= struck_ns <= one.interval.end_ns + SPIKE_NS // 10
    ]  # fmt: skip
    interval = first.interval
    assert interval.cpu == CPU
    assert interval.noise_ns >= SPIKE_NS * 0.9
    assert recording.start_ns <= interval.start_ns - BEFORE_NS
    assert recording.end_ns >= interval.end_ns + AFTER_NS
    assert recording.metadata["trigger"]["cpu"] == CPU
    assert summary.counters.of(LOSSES).total == 0
    # The load is in it all the time: nothing is missing at either end.
    ipis = [n for n, one in enumerate(recording.sources) if one.path[0] == "ipi"]
    table = np.concatenate(list(recording.chunks()))
    starts = np.sort(table["start_ns"][np.isin(table["source"], ipis)].astype(np.int64))
    edges = np.concatenate([[recording.start_ns], starts, [recording.end_ns]])
    assert np.diff(edges).max() < SPIKE_NS + BEFORE_NS // 4


def attached(*options: str | Path, until: str) -> list[tuple[str, str]]:
    """Name and tag of each program of such a run; the tag is a hash of its instructions."""
    with started("record", "-c", str(CPU), "-H", str(HOUSE), *options, until=until) as process:
        ids = held(process.pid)
        every = json.loads(bpftool("--json", "prog", "list"))
        return sorted((one["name"], one["tag"]) for one in every if one["id"] in ids)


def test_the_watched_cpu_runs_what_it_runs_for_a_recording(tmp_path: Path) -> None:
    """All that the flight recorder does is done with records that come anyway."""
    plain = attached("-o", tmp_path / "a.noisetop", until="recording")
    assert len(plain) > 20
    assert plain == attached("--worst", "3", "-o", tmp_path / "worst", until="watching")
    assert plain == attached("-s", "1000000", "-o", tmp_path / "b.noisetop", until="watching")


def test_the_worst_moment_is_kept_with_what_came_before_and_after(tmp_path: Path) -> None:
    folder = tmp_path / "worst"
    with spike() as one, recorder("--worst", "3", "-o", folder) as process:
        pause(2 * BEFORE_NS / 1e9)
        struck_ns = one.strike()
        pause(2 * AFTER_NS / 1e9)
        process.send_signal(signal.SIGINT)
        status, said = ended(process)
    assert status == 0, said
    told = json.loads((folder / "index.json").read_text())
    assert 1 <= len(told) <= 3
    assert {path.name for path in folder.iterdir()} == {"index.json", *(t["file"] for t in told)}
    assert told[0]["source"] == ["thread", "spike'$(x)"], told
    assert [t["net_ns"] for t in told] == sorted((t["net_ns"] for t in told), reverse=True)
    assert "spike" in told[0]["by"]
    assert_holds_the_spike(folder / told[0]["file"], struck_ns)


def test_a_threshold_ends_the_run_with_the_culprit(tmp_path: Path) -> None:
    output, told = tmp_path / "spike.noisetop", tmp_path / "told"
    tell = f'shell,command=printf "%s" "$NOISETOP_SOURCE|$NOISETOP_NET_NS|$NOISETOP_FILE" > {told}'
    with (
        spike() as one,
        recorder(
            "-s", "10000", "--on-threshold", "trace", "--on-threshold", tell, "-o", output
        ) as process,
    ):
        pause(2 * BEFORE_NS / 1e9)
        struck_ns = one.strike()
        status, said = ended(process)
    assert status == 3, said
    source, net_ns, file = told.read_text().split("|")
    assert (source, file) == ("thread › spike'$(x)", str(output))
    assert int(net_ns) >= SPIKE_NS * 0.9
    assert "spike" in said
    assert_holds_the_spike(output, struck_ns)


def test_a_wait_and_a_sum_and_a_source_end_it_as_well(tmp_path: Path) -> None:
    ends = (
        ["--stop-wait", "10ms"],
        ["-S", "15000", "-T", "5000"],
        ["--stop-source", "thread/spike*"],
    )
    with spike() as one, victim() as load, contextlib.ExitStack() as stack:
        running = {
            tmp_path / f"{number}.noisetop": stack.enter_context(
                recorder_of(load, *options, "-o", tmp_path / f"{number}.noisetop")
            )
            for number, options in enumerate(ends)
        }
        one.strike()
        for output, process in running.items():
            status, said = ended(process)
            assert status == 3, (process.args, said)
            assert "spike" in said, (process.args, said)
            assert output.exists()


def test_a_gap_that_a_probe_sees_ends_it_with_the_culprit(tmp_path: Path) -> None:
    output = tmp_path / "gap.noisetop"
    with (
        spike() as one,
        started(
            "record", "-c", str(CPU), "--stop-gap", f"{SPIKE_NS * 9 // 10}ns", "--keep", "1s",
            "--after", "100ms", "-o", output, until="watching",
        ) as process,
    ):  # fmt: skip
        pause(1.5)
        one.strike()
        status, said = ended(process)
    assert status == 3, said
    assert "spike" in said
    report = run("report", output)
    assert "gap of a spinning thread" in report.stdout, report.stderr


def test_the_worst_moments_are_kept_beside_a_live_view(tmp_path: Path) -> None:
    """And the view has the same samples as without."""
    folder = tmp_path / "worst"
    with spike() as one, favoured(CPU, HOUSE, "membarrier:1000:0") as load:
        load.begin()
        process = subprocess.Popen(
            [PROGRAM, "top", "-p", str(load.pid), "-c", str(CPU), "--json", "--worst", "3",
             "--keep", "1s", "-o", folder, "500ms", "8"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stdout
        first = process.stdout.readline()
        struck_ns = one.strike()
        rest, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, said
    samples = [json.loads(line) for line in [first, *rest.splitlines()]]
    assert len(samples) == 8
    index = json.loads((folder / "index.json").read_text())
    kept = [moment for moment in index if "spike" in moment["by"]]
    assert kept, index
    assert kept[0]["start_ns"] <= struck_ns <= kept[0]["start_ns"] + 2 * kept[0]["duration_ns"]
    assert not open_recording(folder / kept[0]["file"]).damage
    lasted = sum(sample["duration_ns"] for sample in samples)
    assert sum("spike" in str(sample) for sample in samples) >= 1
    assert lasted >= 3_500_000_000


def test_ten_thousand_hits_leave_as_many_files_as_are_asked_for(tmp_path: Path) -> None:
    hits, files = 10_000, 3
    with favoured(CPU, HOUSE, f"membarrier:4000:{hits}") as load:
        options = [
            "--stop-source",
            "ipi/*",
            "--keep",
            "100ms",
            "--after",
            "10ms",
            "--hold-off",
            "0",
        ]
        actions = ["--on-threshold", "trace", "--on-threshold", "continue"]
        with started(
            "record", "-p", str(load.pid), "-c", str(CPU), *options, *actions,
            "--max-files", str(files), "-o", tmp_path / "x.noisetop", until="watching",
        ) as process:  # fmt: skip
            load.run()
            process.send_signal(signal.SIGINT)
            status, said = ended(process)
    assert status == 0, said
    found = sorted(int(path.stem.rpartition("-")[2]) for path in tmp_path.iterdir())
    assert found == list(range(found[-1] - files + 1, found[-1] + 1)), said
    assert found[-1] > files


def test_others_ask_for_snapshots(tmp_path: Path) -> None:
    """By signal and by FIFO; a mark is in the file."""
    ctl, ack, output = tmp_path / "ctl", tmp_path / "ack", tmp_path / "x.noisetop"
    os.mkfifo(ctl)
    os.mkfifo(ack)
    with recorder("--control", f"fifo:{ctl},{ack}", "-o", output) as process:
        reader = os.open(ack, os.O_RDONLY | os.O_NONBLOCK)
        with ctl.open("w", buffering=1) as control:
            control.write("mark step 1\nsnapshot\n")
            wait_for((tmp_path / "x-1.noisetop").exists, "the snapshot of the FIFO")
            process.send_signal(signal.SIGUSR2)
            wait_for((tmp_path / "x-2.noisetop").exists, "the snapshot of the signal")
            control.write("ping\nstop\n")
            status, said = ended(process)
        assert os.read(reader, 64) == b"ack\n" * 4
        os.close(reader)
    assert status == 0, said
    assert sorted(path.name for path in tmp_path.glob("*.noisetop")) == [
        "x-1.noisetop", "x-2.noisetop",
    ]  # fmt: skip
    first, second = (open_recording(tmp_path / f"x-{n}.noisetop").metadata for n in (1, 2))
    assert [one["name"] for one in first["marks"]] == ["step 1"]
    assert (first["trigger"]["name"], second["trigger"]["name"]) == ("control", "SIGUSR2")


def test_a_killed_recorder_leaves_whole_files_only(tmp_path: Path) -> None:
    folder = tmp_path / "worst"
    with recorder("--worst", "3", "-o", folder) as process:
        wait_for(lambda: bool(list(folder.glob("*.noisetop"))), "a file")
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=PATIENCE_S)
    for path in folder.glob("*.noisetop"):
        assert not open_recording(path).damage
    with recorder("--worst", "3", "-o", folder) as process:
        process.send_signal(signal.SIGINT)
        status, said = ended(process)
    assert status == 0, said
    known = {one["file"] for one in json.loads((folder / "index.json").read_text())}
    assert {path.name for path in folder.iterdir()} == {"index.json", *known}


def test_a_daemon_gives_the_prompt_back_and_ends_when_told(tmp_path: Path) -> None:
    output = tmp_path / "a.noisetop"
    with favoured(CPU, HOUSE, "membarrier:1000:0") as load:
        done = run("record", "-D", "-p", str(load.pid), "--keep", "1s", "-o", output)
        assert done.returncode == 0, done.stderr
        pid = int((tmp_path / "a.noisetop.pid").read_text())
        try:
            assert f"PID {pid}" in done.stderr
            again = run("record", "-D", "-p", str(load.pid), "-o", output)
            assert again.returncode == 2
            assert f"kill {pid}" in again.stderr
            os.kill(pid, signal.SIGUSR2)
            wait_for((tmp_path / "a-1.noisetop").exists, "the snapshot")
        finally:
            os.kill(pid, signal.SIGTERM)
        wait_for(lambda: not (tmp_path / "a.noisetop.pid").exists(), "its end")
    assert "a-1.noisetop" in (tmp_path / "a.noisetop.log").read_text()
