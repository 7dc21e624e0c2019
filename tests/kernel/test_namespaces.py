"""In the namespaces of a container, what is watched is what the user meant."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from noisetop.machine import system
from tests.kernel.own_cpu import OWN
from tests.kernel.program import PROGRAM, read

pytestmark = [pytest.mark.kernel, pytest.mark.side_by_side]

CPU = str(OWN)
# Not all the time: tests run beside it.
OFTEN = "from time import sleep\nwhile True: sum(range(50000)); sleep(0.003)"
BUSY = f"taskset -c {CPU} {sys.executable} -S -c '{OFTEN}'"
LOOP = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"
IN_PID = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")


def shell(
    script: str, *prefix: str | Path, meanwhile: str = ""
) -> tuple[subprocess.CompletedProcess[str], list[int]]:
    """Runs a script of sh; and the host's numbers of the processes with ``meanwhile`` in their
    command line at the time when it prints something, after which it is given a line."""
    process = subprocess.Popen(
        [*prefix, "sh", "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout
        first = process.stdout.readline()
        found = processes(meanwhile) if meanwhile else []
        out, err = process.communicate("\n", timeout=60)
    finally:
        process.kill()
        process.wait()
    return subprocess.CompletedProcess(script, process.returncode, first + out, err), found


def processes(marker: str) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if path.read_bytes().endswith(f"{marker}\0".encode()):
                found.append(int(path.parent.name))
    return found


def victims(path: Path) -> set[int]:
    """Tasks that lost time, by the host's number."""
    told = json.loads(read("report", path, "--json").stdout)
    return {one["victim_tid"] for one in told["worst"]}


def test_a_process_of_a_pid_namespace(tmp_path: Path) -> None:
    path = tmp_path / "x.noisetop"
    record = f"{PROGRAM} record -c {CPU} -p $pid -d 500ms -o {path}"
    script = f"{BUSY} marker-7351 & pid=$!; {record} && echo recorded && read line; kill $pid"
    done, found = shell(script, *IN_PID, meanwhile="marker-7351")
    assert "numbers of tasks in the results are the host's" in done.stderr
    assert done.stdout == "recorded\n", done.stderr
    assert len(found) == 1
    assert victims(path) == set(found)


def test_a_process_of_a_pid_namespace_that_sleeps(tmp_path: Path) -> None:
    path = tmp_path / "x.noisetop"
    record = f"{PROGRAM} record -p $pid -d 500ms -o {path}"
    script = f"{BUSY} & busy=$!; sleep 60 & pid=$!; {record}; kill $pid $busy"
    done, _ = shell(script, *IN_PID)
    assert done.returncode == 0, done.stderr
    assert victims(path) == set()


@pytest.mark.parametrize("follow", [False, True])
def test_a_command_in_a_pid_namespace(tmp_path: Path, follow: bool) -> None:
    path = tmp_path / "x.noisetop"
    busy = f"timeout 1 {BUSY}" if follow else LOOP
    command = f"sh -c {shlex.quote(f'{busy}; exit 5')}"
    done, _ = shell(f"{PROGRAM} record -o {path} -- {command}", *IN_PID)
    assert done.returncode == 5, done.stderr
    assert victims(path)


def test_a_spinning_thread_in_a_pid_namespace() -> None:
    done, _ = shell(f"{PROGRAM} probe spin -c {CPU} -d 500ms --json", *IN_PID)
    assert done.returncode == 0, done.stderr
    [cpu] = json.loads(done.stdout)["spin"][0]["cpus"]
    assert {part["kind"] for part in cpu["parts"]} >= {"event"}


@pytest.mark.parametrize("option", ["-p 1", "-- true"])
def test_a_proc_of_another_namespace_is_refused(tmp_path: Path, option: str) -> None:
    script = f"{PROGRAM} record -d 500ms -o {tmp_path}/x.noisetop {option}"
    done, _ = shell(script, "unshare", "--pid", "--fork", "--kill-child")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("noisetop: /proc is that of another PID")
    assert not list(tmp_path.iterdir())


def test_a_user_namespace_is_refused_in_one_line(tmp_path: Path) -> None:
    script = f"{PROGRAM} record -c {CPU} -d 500ms -q -o {tmp_path}/x.noisetop"
    done, _ = shell(script, "unshare", "--user", "--map-root-user")
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert "user namespace" in line
    assert not list(tmp_path.iterdir())


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group with another one in it."""
    root = system.cgroup2_root()
    if root is None:
        pytest.skip("no cgroup v2 here")
    outer = root / f"noisetop-outer-{os.getpid()}"
    inner = outer / "inner"
    try:
        inner.mkdir(parents=True)
    except OSError as error:
        pytest.skip(f"no cgroup can be made here: {error.strerror}")
    yield outer
    inner.rmdir()
    outer.rmdir()


@pytest.mark.parametrize("mounted_anew", [True, False])
def test_a_control_group_of_a_cgroup_namespace(
    tmp_path: Path, group: Path, mounted_anew: bool
) -> None:
    path = tmp_path / "x.noisetop"
    name = "/inner" if mounted_anew else f"/{group.name}/inner"
    mount = f"umount {group.parent} && mount -t cgroup2 none {group.parent}"
    inside = f"""
        {mount if mounted_anew else "true"} || exit 99
        {BUSY} & pid=$!
        echo $pid > {group.parent}{name}/cgroup.procs
        {PROGRAM} record -c {CPU} --cgroup {name} -d 500ms -o {path}; status=$?
        kill $pid; wait
        exit $status
    """
    script = f"echo $$ > {group}/cgroup.procs; unshare --cgroup --mount sh -c '{inside}'; s=$?"
    script += f"; echo $$ > {group.parent}/cgroup.procs; exit $s"
    done, _ = shell(script.replace(f"'{OFTEN}'", f'"{OFTEN}"'))
    assert done.returncode == 0, done.stderr
    assert victims(path)
