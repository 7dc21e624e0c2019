"""Who exactly did it: processes with command line and parent, short-lived ones, our own threads."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kernel.forked import run, started
from tests.kernel.loads import RESTS, stop, workload
from tests.kernel.own_cpu import OTHER, OWN
from tests.kernel.program import read
from tests.kernel.provoked import program

pytestmark = [pytest.mark.kernel, pytest.mark.side_by_side]

VICTIM_CPU, SENDER_CPU = OWN, OTHER
STARTS = 30
NAME = "who-is-this"


def reported(file: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(read("report", "--json", file).stdout)
    return document


def sources(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for cpu in document["cpus"].values() for one in cpu["sources"]]


@contextlib.contextmanager
def script(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A shell script that, told to begin, starts a short process again and again on one CPU."""
    program = folder / NAME
    program.symlink_to(Path("/bin/ls").resolve())
    file = folder / "cronish.sh"
    file.write_text(
        "#!/bin/sh\nread line\n"
        f"for i in $(seq {STARTS}); do {program} / >/dev/null; sleep 0.02; done\n"
        "echo done; read line\n"
    )
    file.chmod(0o755)
    process = subprocess.Popen(
        ["taskset", "-c", str(VICTIM_CPU), file],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        stop(process)


def test_a_process_started_again_and_again_is_told_with_who_starts_it(tmp_path: Path) -> None:
    file = tmp_path / "a.noisetop"
    arguments = ("record", "-c", str(VICTIM_CPU), "-H", str(SENDER_CPU), "-o", file)
    with workload("timerfd", VICTIM_CPU, SENDER_CPU, 100, rest_us=RESTS), script(tmp_path) as load:
        with started(*arguments, until="recording") as recorder:
            assert load.stdin
            assert load.stdout
            load.stdin.write(b"go\n")
            load.stdin.flush()
            assert load.stdout.readline() == b"done\n"
            recorder.terminate()
            recorder.wait()
        pid = load.pid
    document = reported(file)
    (row,) = [one for one in document["short_lived"] if one["name"] == NAME]
    # Some guests' kernels hide a few tasks from their tracepoints, and with each of them a switch.
    hidden = document["losses"]["by_cpu"][str(VICTIM_CPU)]["switch"]
    assert min(0.9 * STARTS, STARTS - hidden) <= row["starts"] <= STARTS
    assert row["starts_per_s"] == pytest.approx(row["starts"] * 1e9 / document["duration_ns"])
    starter = row["starter"]
    assert (starter["pid"], starter["name"]) == (pid, "cronish.sh")
    assert str(tmp_path / "cronish.sh") in starter["command"]
    tasks = [one for source in sources(document) for one in source["tasks"] if one["name"] == NAME]
    assert sum(one["count"] for one in tasks) == row["count"]
    assert all(one["parent"]["pid"] == pid for one in tasks)
    text = read("report", "-v", file).stdout
    assert f"starts/s by cronish.sh (PID {pid}" in text
    assert str(tmp_path / "cronish.sh") in text


def test_victims_and_culprits_have_their_process_when_it_is_gone(tmp_path: Path) -> None:
    file = tmp_path / "a.noisetop"
    arguments = ("record", "-c", str(VICTIM_CPU), "-H", str(SENDER_CPU), "-d", "500ms", "-q")
    with workload("compete", VICTIM_CPU, SENDER_CPU, 100, rest_us=RESTS) as pid:
        assert run(*arguments, "-o", file).returncode == 0
    document = reported(file)
    ran = [one for source in sources(document) for one in source["tasks"] if one["pid"] == pid]
    assert {"victim", "compete"} <= {one["name"] for one in ran}
    for one in ran:
        assert one["command"].endswith(f"{VICTIM_CPU}/{RESTS} {SENDER_CPU} compete:100:0")
        assert one["parent"]["pid"] > 0
    assert any(wait["pid"] == pid for wait in document["waits"].values())


def test_a_live_sample_tells_it_as_well() -> None:
    with workload("compete", VICTIM_CPU, SENDER_CPU, 100, rest_us=RESTS) as pid:
        done = run("top", "-c", str(VICTIM_CPU), "-H", str(SENDER_CPU), "--json", "0.4", "2")
    assert done.returncode == 0, done.stderr
    last = json.loads(done.stdout.splitlines()[-1])
    ran = [one for source in sources(last) for one in source["tasks"] if one["pid"] == pid]
    assert ran
    assert all("compete:100:0" in one["command"] for one in ran)


def noisetops(document: dict[str, Any]) -> set[tuple[str, ...]]:
    paths = {tuple(one["path"]) for one in sources(document)}
    return {path for path in paths if path[0] == "thread" and path[-1] == "noisetop"}


def test_another_noisetop_is_another_task_and_ours_is_ours(tmp_path: Path) -> None:
    """Both go by one name; each keeps house on the CPU that the first one watches."""
    ours, theirs = tmp_path / "a.noisetop", tmp_path / "b.noisetop"
    other = ("record", "-c", str(SENDER_CPU), "-H", str(VICTIM_CPU), "-o", theirs)
    watch = ("record", "-c", str(VICTIM_CPU), "-d", "500ms", "-q")
    with (
        workload("timerfd", VICTIM_CPU, SENDER_CPU, 100, rest_us=RESTS),
        started(*other, until="recording"),
    ):
        assert run(*watch, "-H", str(SENDER_CPU), "-o", ours).returncode == 0
        assert noisetops(reported(ours)) == {("thread", "noisetop")}
        assert run(*watch, "-H", str(VICTIM_CPU), "-o", ours, "--force").returncode == 0
        assert noisetops(reported(ours)) == {("thread", "noisetop"), ("thread", "own", "noisetop")}
    causes = json.loads(read("diagnose", "--json", ours).stdout)
    rules = [one["rule"] for one in causes["findings"]]
    assert "noisetop-itself" in rules


def posing(name: str) -> str:
    """A program that goes by another name and never sleeps."""
    return f"""
import ctypes
ctypes.CDLL(None).prctl(15, b"{name}")
print("begins", flush=True)
while True: pass
"""


def test_a_program_with_the_name_of_a_kernel_thread_is_somebody_else(tmp_path: Path) -> None:
    file, name = tmp_path / "a.noisetop", f"ksoftirqd/{VICTIM_CPU}"
    spinning = program(VICTIM_CPU, posing("spins"))
    with spinning as victim, program(VICTIM_CPU, posing(name)) as pid:
        watch = ("record", "-p", str(victim), "-H", str(SENDER_CPU), "-d", "800ms", "-q")
        assert run(*watch, "-o", file).returncode == 0
    ran = [one for one in sources(reported(file)) if one["path"] == ["thread", name]]
    posed = [one for one in ran if one["origin"] == "others"]
    assert sum(one["count"] for one in posed) > 50
    assert {task["pid"] for one in posed for task in one["tasks"]} == {pid}
    assert {one["origin"] for one in ran} <= {"others", "kernel"}
    causes = json.loads(read("diagnose", "--json", file).stdout)
    found = {one["rule"]: one for one in causes["findings"]}
    assert "other-program" in found
    real_ns = sum(one["net_ns"] for one in ran if one["origin"] == "kernel")
    assert found.get("softirq-thread", {"net_ns": 0})["net_ns"] <= real_ns
