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
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from noisetop.counters.losses import LOSSES
from noisetop.machine import system
from noisetop.recording.open import open_recording
from noisetop.summary.worst import WORST_KEPT, summarize_with_worst, with_external
from tests.kernel.forked import fork, run, started
from tests.kernel.loads import RESTS, Workload, prepared
from tests.kernel.program import (
    PATIENCE_S,
    bpftool,
    ended_at_last,
    held,
    read,
    wait_for,
    wait_for_line,
)
from tests.kernel.provoked import attentive, favoured

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
    """Watches the victim."""
    return started("record", "-p", str(load.pid), "-c", str(CPU), *options, until="watching")


@contextlib.contextmanager
def recorder(*options: str | Path) -> Iterator[subprocess.Popen[str]]:
    """Keeps a little of what happens to a victim of its own, which others may disturb."""
    with (
        prepared(CPU, HOUSE, "membarrier:1000:0", rest_us=RESTS) as load,
        recorder_of(load, "--keep", "100ms", "--after", "50ms", *options) as process,
    ):
        load.begin()
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


def attached(process: subprocess.Popen[str]) -> list[tuple[str, str]]:
    """Name and tag of each program of a run; the tag is a hash of its instructions."""
    ids = held(process.pid)
    every = json.loads(bpftool("--json", "prog", "list"))
    return sorted((one["name"], one["tag"]) for one in every if one["id"] in ids)


@pytest.mark.side_by_side
def test_the_watched_cpu_runs_what_it_runs_for_a_recording(tmp_path: Path) -> None:
    """All that the flight recorder does is done with records that come anyway."""
    runs: tuple[tuple[str, list[str | Path]], ...] = (
        ("recording", ["-o", tmp_path / "a.noisetop"]),
        ("watching", ["--worst", "3", "-o", tmp_path / "worst"]),
        ("watching", ["-s", "1000000", "-o", tmp_path / "b.noisetop"]),
    )
    with contextlib.ExitStack() as stack:
        plain, *others = [
            attached(stack.enter_context(started("record", "-c", f"{CPU}", *own, until=until)))
            for until, own in runs
        ]
    assert len(plain) > 20
    assert others == [plain, plain]


SUM_NS, COUNTED_NS = 15_000_000, 5_000_000
ENDS = {
    "threshold": ["-s", "10000", "--on-threshold", "trace", "--on-threshold"],
    "wait": ["--stop-wait", "10ms"],
    "sum": ["-S", f"{SUM_NS // 1000}", "-T", f"{COUNTED_NS // 1000}"],
    "source": ["--stop-source", "thread/spike*"],
}
"""What ends a recorder when the spike strikes."""
STRIKES = 3
"""Some guests' kernels hide a switch now and then: where that was the spike's, it strikes again."""
TELL = 'shell,command=printf "%s" "$NOISETOP_SOURCE|$NOISETOP_NET_NS|$NOISETOP_FILE" > '


@dataclass
class Struck:
    """What became of all recorders of one victim that the spike struck once."""

    folder: Path
    """With a file for each of ENDS, ``told`` and the folder ``worst``."""
    at_ns: int
    ended: dict[str, tuple[int, str]]
    """Status, and what it said."""


def is_kept(folder: Path) -> bool:
    """Whether the spike is among the worst moments."""
    index = folder / "index.json"
    return index.exists() and "spike" in index.read_text()


@pytest.fixture(scope="module")
def struck(tmp_path_factory: pytest.TempPathFactory) -> Struck:
    for _ in range(STRIKES):
        found = strike(tmp_path_factory.mktemp("struck"))
        if not began_hidden(found.folder / "worst"):
            break
    return found


def has_hidden_switches(path: Path) -> bool:
    summary, _ = summarize_with_worst(open_recording(path), WORST_KEPT)
    return summary.counters.of(LOSSES).unpaired > 0


def began_hidden(worst: Path) -> bool:
    """Whether the spike is too short where the file tells of a switch that was not reported."""
    first = json.loads((worst / "index.json").read_text())[0]
    return has_hidden_switches(worst / first["file"]) and first["net_ns"] < SPIKE_NS * 0.9


def strike(folder: Path) -> Struck:
    """Lets the spike strike once while all recorders watch."""
    options: dict[str, list[str | Path]] = {
        name: [*one, "-o", folder / f"{name}.noisetop"] for name, one in ENDS.items()
    }
    options["threshold"].insert(len(ENDS["threshold"]), f"{TELL}{folder}/told")
    options["worst"] = ["--worst", "3", "-o", folder / "worst"]
    kept = ["--keep", f"{BEFORE_NS}ns", "--after", f"{AFTER_NS}ns"]
    with spike() as one, victim() as load, contextlib.ExitStack() as stack:
        running = {
            name: fork("record", "-p", str(load.pid), "-c", str(CPU), *kept, *own)
            for name, own in options.items()
        }
        for process in running.values():
            stack.enter_context(ended_at_last(process))
        for process in running.values():
            wait_for_line(process, "watching")
        pause(1.2 * BEFORE_NS / 1e9)
        at_ns = one.strike()
        ends = {name: ended(running[name]) for name in ENDS}
        wait_for(lambda: is_kept(folder / "worst"), "the spike among the worst moments")
        running["worst"].send_signal(signal.SIGINT)
        ends["worst"] = ended(running["worst"])
    return Struck(folder, at_ns, ends)


def test_the_worst_moment_is_kept_with_what_came_before_and_after(struck: Struck) -> None:
    status, said = struck.ended["worst"]
    folder = struck.folder / "worst"
    assert status == 0, said
    told = json.loads((folder / "index.json").read_text())
    assert 1 <= len(told) <= 3
    assert {path.name for path in folder.iterdir()} == {"index.json", *(t["file"] for t in told)}
    assert told[0]["source"] == ["thread", "spike'$(x)"], told
    assert [t["net_ns"] for t in told] == sorted((t["net_ns"] for t in told), reverse=True)
    assert "spike" in told[0]["by"]
    assert_holds_the_spike(folder / told[0]["file"], struck.at_ns)


def test_a_threshold_ends_the_run_with_the_culprit(struck: Struck) -> None:
    output, told = struck.folder / "threshold.noisetop", struck.folder / "told"
    source, net_ns, file = told.read_text().split("|")
    assert (source, file) == ("thread › spike'$(x)", str(output))
    assert int(net_ns) >= SPIKE_NS * 0.9
    assert_holds_the_spike(output, struck.at_ns)


def others_ns(path: Path) -> int:
    """What others than the spike took in intervals that count for a sum: a busy disk is enough."""
    _, worst = summarize_with_worst(open_recording(path), WORST_KEPT)
    return sum(
        one.interval.noise_ns
        for one in worst
        if one.interval.noise_ns >= COUNTED_NS
        and not any("spike" in "".join(part.source.path) for part in one.parts)
    )


@pytest.mark.parametrize("name", ENDS)
def test_a_wait_and_a_sum_and_a_source_end_it_as_well(name: str, struck: Struck) -> None:
    status, said = struck.ended[name]
    output = struck.folder / f"{name}.noisetop"
    assert status == 3, said
    assert "spike" in said or (name == "sum" and others_ns(output) >= SUM_NS), said
    assert output.exists()


def spun_ns(pid: int) -> int:
    """For how long the child of this process that spins has done so."""
    children = [
        child
        for thread in Path(f"/proc/{pid}/task").iterdir()
        for child in (thread / "children").read_text().split()
    ]
    return max(int(Path(f"/proc/{one}/schedstat").read_text().split()[0]) for one in children)


def strike_in_a_gap(output: Path) -> tuple[int, str]:
    """Lets the spike strike once while a probe spins: status, and what was said."""
    with (
        spike() as one,
        attentive(),
        started(
            "record", "-c", str(CPU), "--stop-gap", f"{SPIKE_NS * 9 // 10}ns", "--keep", "1s",
            "--after", "100ms", "-o", output, until="watching",
        ) as process,
    ):  # fmt: skip
        # It looks for gaps from a moment on that comes soon after it is told to begin.
        enough_ns = spun_ns(process.pid) + 5 * SPIKE_NS
        wait_for(lambda: spun_ns(process.pid) > enough_ns, "the thread that spins")
        one.strike()
        return ended(process)


def test_a_gap_that_a_probe_sees_ends_it_with_the_culprit(tmp_path: Path) -> None:
    """Who ran before a switch that was not reported is not known: then it strikes again."""
    for number in range(STRIKES):
        output = tmp_path / f"gap-{number}.noisetop"
        status, said = strike_in_a_gap(output)
        assert status == 3, said
        if "spike" in said or not has_hidden_switches(output):
            break
    assert "spike" in said
    report = read("report", output)
    assert "gap of a spinning thread" in report.stdout


def test_the_worst_moments_are_kept_beside_a_live_view(tmp_path: Path) -> None:
    """And the view has the same samples as without."""
    folder = tmp_path / "worst"
    with spike() as one, favoured(CPU, HOUSE, "membarrier:1000:0") as load:
        load.begin()
        process = fork(
            "top", "-p", str(load.pid), "-c", str(CPU), "--json", "--worst", "3",
            "--keep", "400ms", "-o", folder, "200ms", "5",
        )  # fmt: skip
        assert process.stdout
        first = process.stdout.readline()
        struck_ns = one.strike()
        rest, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, said
    samples = [json.loads(line) for line in [first, *rest.splitlines()]]
    assert len(samples) == 5
    index = json.loads((folder / "index.json").read_text())
    kept = [moment for moment in index if "spike" in moment["by"]]
    assert kept, index
    assert kept[0]["start_ns"] <= struck_ns <= kept[0]["start_ns"] + 2 * kept[0]["duration_ns"]
    assert not open_recording(folder / kept[0]["file"]).damage
    lasted = sum(sample["duration_ns"] for sample in samples)
    assert sum("spike" in str(sample) for sample in samples) >= 1
    assert lasted >= 875_000_000


@pytest.mark.side_by_side
def test_hits_without_end_leave_as_many_files_as_are_asked_for(tmp_path: Path) -> None:
    files = 2
    options = ["--stop-source", "ipi/*", "--keep", "100ms", "--after", "10ms", "--hold-off", "0"]
    actions = ["--on-threshold", "trace", "--on-threshold", "continue"]
    with prepared(CPU, HOUSE, "membarrier:4000:0", rest_us=RESTS) as load:
        keeping: list[str | Path] = [
            *options,
            *actions,
            "--max-files",
            str(files),
            "-o",
            tmp_path / "x.noisetop",
        ]
        with recorder_of(load, *keeping) as process:
            load.begin()
            wait_for((tmp_path / f"x-{files + 1}.noisetop").exists, "one file more")
            process.send_signal(signal.SIGINT)
            status, said = ended(process)
    assert status == 0, said
    found = sorted(int(path.stem.rpartition("-")[2]) for path in tmp_path.iterdir())
    assert found == list(range(found[-1] - files + 1, found[-1] + 1)), said


@pytest.mark.side_by_side
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


@pytest.mark.side_by_side
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


@pytest.mark.side_by_side
def test_a_daemon_gives_the_prompt_back_and_ends_when_told(tmp_path: Path) -> None:
    output = tmp_path / "a.noisetop"
    with prepared(CPU, HOUSE, "membarrier:1000:0", rest_us=RESTS) as load:
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
