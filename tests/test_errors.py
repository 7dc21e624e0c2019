"""Bad input: one line that says what is wrong and what to type, and the right exit status."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from noisetop.machine import system
from noisetop.text.cpu_list import format_cpu_list
from noisetop.tracing import privileges
from tests.in_process import PROGRAM, run_in_process

ABSENT_PID = "999999999"


def fails(status: int, *arguments: str | Path) -> str:
    """Runs it; the one line that it must say."""
    return line_of(run_in_process(*arguments), status)


def line_of(done: subprocess.CompletedProcess[str], status: int) -> str:
    assert done.returncode == status, done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("noisetop: ")
    return line.removeprefix("noisetop: ")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("-p", ABSENT_PID), f"there is no process {ABSENT_PID}: see ps -e"),
        (("-p", "-1"), "there is no process named '-1': see ps -e"),
        (("-p", "no such name"), "there is no process named 'no such name': see ps -e"),
        (("-t", ABSENT_PID), f"there is no thread {ABSENT_PID}: see ps -eL"),
        (("-p", "1", "-t", "1"), "give one of -p, -t and --cgroup, not -p and -t"),
        (("-c", "2-"), "'2-' is not a CPU list: write for example 2 or 2-3,6"),
        (("-c", "3-1"), "'3-1' is not a CPU list: write for example 2 or 2-3,6"),
        (("-c", ""), "'' is not a CPU list: write for example 2 or 2-3,6"),
        (("-d", "10x"), "'10x' is not a duration: write for example 500ms, 10s or 1m"),
        (("-d", "0"), "'0' is not a duration: write for example 500ms, 10s or 1m"),
        (("--ring-size", "0"), "--ring-size takes 1 to 262144 KiB"),
        (("--frobnicate",), "unrecognized arguments: --frobnicate: see noisetop top --help"),
        (("1", "0"), "the number of samples must be at least 1"),
        (("--",), "after -- there must be a command to run"),
        (("recrod",), "there is no command 'recrod': did you mean noisetop record?"),
        (("xyzzy",), "there is no command 'xyzzy': see noisetop --help"),
        (("-p", "1", "--", "true"), "give -p, -t, --cgroup or a command after --, not two of them"),
    ],
)
def test_usage(arguments: tuple[str, ...], line: str) -> None:
    assert fails(2, *arguments) == line


@pytest.mark.parametrize(
    ("arguments", "status", "line"),
    [
        (("-p", ABSENT_PID), 2, f"there is no process {ABSENT_PID}: see ps -e"),
        (("recrod",), 2, "there is no command 'recrod': did you mean noisetop record?"),
        (("report", os.devnull), 1, f"{os.devnull} is not a file: give a recording"),
        (("export", os.devnull, "-o", "x.svg"), 1, f"{os.devnull} is not a file"),
    ],
)
def test_a_process_of_its_own_says_the_same(
    arguments: tuple[str, ...], status: int, line: str
) -> None:
    done = subprocess.run(
        [PROGRAM, *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    assert line_of(done, status).startswith(line)


def test_absent_cpu() -> None:
    online = format_cpu_list(system.online_cpus())
    assert fails(2, "-c", "4095") == f"CPU 4095 not online here: choose from {online}"
    assert fails(2, "-c", "99999").startswith("CPU 99999 does not exist here")


def test_entries_where_no_watched_cpu_tells_them() -> None:
    others = sorted(set(system.online_cpus()) - set(system.nohz_full_cpus()))
    assert fails(2, "--entries", "-c", format_cpu_list(others)) == (
        "--entries takes a CPU of nohz_full=, and none is watched: leave it out"
    )


def test_a_thread_is_no_process() -> None:
    threads = [
        (int(path.name), int(path.parent.parent.name))
        for path in Path("/proc").glob("[0-9]*/task/[0-9]*")
        if path.name != path.parent.parent.name
    ]
    if not threads:
        pytest.fail("no process with two threads is running here")
    tid, pid = threads[0]
    assert (
        fails(2, "-p", str(tid)) == f"{tid} is a thread of process {pid}: use -p {pid}, or -t {tid}"
    )


def test_output_that_cannot_be_written(tmp_path: Path) -> None:
    if not privileges.may_trace():
        pytest.skip("privileges are asked for first")
    missing = tmp_path / "no" / "trace.json"
    there = tmp_path / "there.json"
    there.write_text("precious")
    assert fails(2, "record", "-o", missing).startswith(f"folder {missing.parent} does not exist")
    assert fails(2, "record", "-o", there) == f"{there} exists: choose another name or add --force"
    assert there.read_text() == "precious"
    for folder in (tmp_path, "/", "."):
        assert fails(2, "record", "-o", folder) == f"{folder} is a folder: give a file name"
    assert "what format is" in fails(2, "record", "-o", tmp_path / "trace.xyz")
    assert [file.name for file in tmp_path.iterdir()] == ["there.json"]


@pytest.mark.parametrize("verb", ["report", "export"])
def test_files_that_are_no_recordings(tmp_path: Path, verb: str) -> None:
    extra = () if verb == "report" else ("-o", tmp_path / "x.svg")
    empty, other = tmp_path / "empty", tmp_path / "other"
    empty.touch()
    other.write_bytes(b"\x7fELF" + bytes(1000))
    for path in (empty, other, tmp_path / "missing", tmp_path):
        assert str(path) in fails(1, verb, path, *extra)


@pytest.mark.skipif(os.geteuid() != 0, reason="it takes root to become another user")
@pytest.mark.skipif(not shutil.which("setpriv"), reason="setpriv is missing")
def test_without_privileges_it_says_what_to_type(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            "setpriv",
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            # It can read this checkout, wherever that lies.
            "--inh-caps=-all,+dac_read_search",
            "--ambient-caps=+dac_read_search",
            PROGRAM,
            "-c",
            "0",
            "-d",
            "1s",
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd="/",
    )
    for_others = all(folder.stat().st_mode & stat.S_IXOTH for folder in PROGRAM.parents)
    typed = PROGRAM if for_others else f"{PROGRAM.with_name('python3')} -P -m noisetop"
    assert done.returncode == 1
    assert done.stderr == (
        f"noisetop: tracing needs root, or CAP_BPF and CAP_PERFMON: sudo {typed} -c 0 -d 1s\n"
    )
