"""The commands of the pages about limits and the flight recorder, and those of rtla's users."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from noisetop.machine import system
from tests.kernel.forked import Done, run
from tests.kernel.loads import RESTS, prepared
from tests.kernel.program import PATIENCE_S, PROGRAM, read
from tests.kernel.provoked import favoured

pytestmark = pytest.mark.kernel

GUIDE = Path(__file__).parents[2] / "docs/guide"
CPU, HOUSE = max(system.online_cpus()), min(system.online_cpus())
NOBODY = "65534"
CULPRIT = """
import os, time
open("/proc/self/comm", "w").write("culprit")
os.sched_setaffinity(0, {%d})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(2))
print("ready", flush=True)
while True:
    end = time.monotonic_ns() + 5_000_000
    while time.monotonic_ns() < end:
        pass
    time.sleep(0.02)
"""
BENCHMARK = """#!/bin/sh
i=0
while [ $i -lt 500000 ]; do i=$((i + 1)); done
"""
SUDO = f"""#!/bin/sh
SUDO_UID={NOBODY} SUDO_GID={NOBODY} SUDO_USER=nobody exec "$@"
"""
SAYS = ["-S", "2", "--on-threshold"]
RTLA = {
    "total": ([*SAYS, "shell,command=echo said"], 3, "said\n"),
    "single": (["-s", "2", "--on-threshold", "shell,command=echo said"], 3, "said\n"),
    "counted": (["-S", "2", "-T", "1", "--on-threshold", "shell,command=echo said"], 3, "said\n"),
    "several": (
        [*SAYS, "shell,command=echo -n 1", "--on-threshold", "shell,command=echo 2"],
        3,
        "12\n",
    ),
    "failed": (
        [*SAYS, "shell,command=echo -n one; false", "--on-threshold", "shell,command=echo two"],
        3,
        "one",
    ),
    "end": (["-d", "500ms", "--on-end", "shell,command=echo said"], 0, "said\n"),
    "not-reached": (
        ["-s", "1000000", "-d", "500ms", "--on-threshold", "shell,command=echo said"],
        0,
        "",
    ),
    "continued": (
        [*SAYS, "shell,command=echo said", "--on-threshold", "continue", "-d", "1s"],
        0,
        "said\n",
    ),
}
"""Options, status and output of each."""


@contextlib.contextmanager
def culprit() -> Iterator[None]:
    """A real-time task that takes the benchmark's CPU again and again."""
    process = subprocess.Popen([sys.executable, "-c", CULPRIT % CPU], stdout=subprocess.PIPE)
    try:
        assert process.stdout
        process.stdout.readline()
        yield
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE_S)


def executable(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def step(page: str, name: str) -> str:
    """The command of a step of the workflow on a page, for this machine's CPUs."""
    found = re.search(rf"(?m)^ +- name: {name}\n +run: (?:\|\n)?((?:.+\n)+?) +- ", page)
    assert found, name
    command = re.sub(r"-c 3\b", f"-c {CPU}", found[1])
    return re.sub(r"-H 0\b", f"-H {HOUSE}", command)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A working folder that the caller of sudo may enter, and a ``sudo`` that is found first."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        path.chmod(0o755)
        (path / "bin").mkdir()
        executable(path / "bin/sudo", SUDO)
        (path / "bin/noisetop").symlink_to(PROGRAM)
        yield path


def done(command: str, folder: Path) -> Done:
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={
            **os.environ,
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        },
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE_S,
        check=False,
    )


@pytest.mark.skipif(len(system.online_cpus()) < 2, reason="takes a CPU that is not watched")
def test_the_build_of_the_page_fails_with_the_name_of_the_culprit(folder: Path) -> None:
    page = (GUIDE / "limits.md").read_text()
    executable(folder / "benchmark", BENCHMARK)
    with culprit():
        recorded = done(step(page, "Run the benchmark, and record what interrupts it"), folder)
    assert recorded.returncode == 0, recorded.stderr
    judged = done(step(page, "Judge the noise"), folder)
    assert judged.returncode == 3, judged.stderr
    failures = ET.parse(folder / "limits.xml").getroot().iter("failure")
    told = {"limits.xml": "".join(str(one.get("message")) for one in failures)}
    told |= {"stderr": judged.stderr, "summary": (folder / "summary.md").read_text()}
    assert {name for name, text in told.items() if "culprit" not in text} == set(), told


@pytest.mark.side_by_side
def test_what_users_of_rtla_type(tmp_path_factory: pytest.TempPathFactory) -> None:
    """As its manual and its tests have it for ``rtla osnoise``, and ends as they say: all of it at
    the same time, under one load."""

    def typed(options: list[str]) -> Done:
        return run("record", "-c", str(CPU), *options, cwd=tmp_path_factory.mktemp("rtla"))

    with (
        prepared(CPU, HOUSE, "membarrier:1000:0", rest_us=RESTS) as load,
        ThreadPoolExecutor(len(RTLA)) as pool,
    ):
        load.begin()
        found = dict(zip(RTLA, pool.map(typed, (one[0] for one in RTLA.values())), strict=True))
    for name, (options, status, output) in RTLA.items():
        one = found[name]
        said = output * max(one.stdout.count("said"), 1) if "continue" in options else output
        assert (one.returncode, one.stdout) == (status, said), (name, one.stderr)


@pytest.mark.side_by_side
def test_a_file_a_command_and_a_signal_in_their_order(tmp_path: Path) -> None:
    """The example of rtla's manual: the file is there when the command runs, then the parent is
    told."""
    script = (
        'trap "echo told" INT; '
        f'"{PROGRAM}" record -c {CPU} -s 20 --on-threshold trace '
        "--on-threshold shell,command='ls noise.noisetop' "
        "--on-threshold signal,num=2,pid=parent -o noise.noisetop; echo $?"
    )
    with prepared(CPU, HOUSE, "membarrier:1000:0", rest_us=RESTS) as load, culprit():
        load.begin()
        found = done(f"cd {tmp_path}; {script}", tmp_path)
    assert found.stdout.split() == ["noise.noisetop", "told", "3"], found.stderr
    assert "culprit" in read("report", tmp_path / "noise.noisetop").stdout


def test_the_commands_of_the_page_about_the_flight_recorder(folder: Path) -> None:
    """Each as it stands there, but for the CPUs."""
    page = (GUIDE / "flight-recorder.md").read_text()
    commands = re.findall(r"(?m)^ {4}(noisetop record (?:.*\\\n)*.*)$", page)
    worst, bursts, threshold, gap, actions, asked = [
        re.sub(r"-c 2(-3)?\b", f"-c {CPU}", command) for command in commands
    ]
    asking = f"{asked} -d 1m & (echo mark here; echo snapshot; echo stop) > ctl; cat ack; wait"
    at_once = [f"{one} -d 1s" for one in (worst, bursts, actions)] + [threshold, asking]
    os.mkfifo(folder / "ctl")
    os.mkfifo(folder / "ack")
    with culprit():
        with (
            favoured(CPU, HOUSE, "membarrier:1000:0") as load,
            ThreadPoolExecutor(len(at_once)) as pool,
        ):
            load.begin()
            found = list(pool.map(lambda one: done(one, folder), at_once))
        assert done(gap, folder).returncode == 3
    assert [one.returncode for one in found] == [0, 0, 0, 3, 0], found
    index = json.loads((folder / "worst/index.json").read_text())
    assert ["thread", "culprit"] in [one["source"] for one in index]
    periods = json.loads((folder / "bursts/index.json").read_text())
    assert {one["duration_ns"] for one in periods} == {10_000_000 - 1}
    assert (folder / "spike.noisetop").exists()
    assert (folder / "gap.noisetop").exists()
    assert list(folder.glob("2*.noisetop")), found
    assert list(folder.glob("asked*.noisetop")), found
