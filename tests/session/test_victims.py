"""What -p and -t name."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest

from noisetop.errors import UsageError
from noisetop.machine.files import Files
from noisetop.session.victims import process_target, thread_target
from noisetop.tracing.target import Target

CPUS = (0, 1)


def _process(root: Path, pid: int, name: str, command: str, *threads: tuple[int, str]) -> None:
    for tid, comm in ((pid, name), *threads):
        for folder in (root / f"proc/{pid}/task/{tid}", root / f"proc/{tid}"):
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "comm").write_text(f"{comm}\n")
            (folder / "status").write_text(f"Name:\t{comm}\nState:\tS (sleeping)\nTgid:\t{pid}\n")
            (folder / "cmdline").write_text(command.replace(" ", "\0"))


@pytest.fixture
def files(tmp_path: Path) -> Files:
    _process(tmp_path, 10, "redis-server", "redis-server *:6379", (11, "io_thd_1"), (12, "bio"))
    _process(tmp_path, 20, "web", "web --port 80")
    _process(tmp_path, 21, "web", "web --port 81 " + "x" * 100)
    _process(tmp_path, 30, "vhost-30", "")
    _process(tmp_path, 31, "ksoftirqd/1", "")
    _process(tmp_path, os.getpid(), "noisetop", "noisetop top -p noisetop")
    return Files(tmp_path)


def test_one_process_keeps_the_fast_comparison(files: Files) -> None:
    wanted = Target(CPUS, pid=10, title="PID 10 (redis-server)")
    for text in ("10", "redis-server", "10,redis-server"):
        assert process_target(text, CPUS, files, follow=False) == wanted
    assert wanted.victims == "PROCESS"


def test_several_processes(files: Files) -> None:
    found = process_target("20, 21,redis-server", CPUS, files, follow=False)
    assert found.pids == found.processes == (20, 21, 10)
    assert found.title == "PIDs 20,21,10 (web, redis-server)"
    assert found.victims == "PROCESSES"
    assert process_target("20,21", CPUS, files, follow=True).victims == "TREE"


def test_threads(files: Files) -> None:
    found = thread_target("io_thd_1,12", CPUS, files)
    assert (found.tids, found.title) == ((11, 12), "TIDs 11,12 (io_thd_1, bio)")
    assert found.victims == "THREADS"
    assert thread_target("vhost-30", CPUS, files).tids == (30,)


def _refusal(option: str, text: str, files: Files) -> str:
    make = partial(process_target, follow=False) if option == "-p" else thread_target
    with pytest.raises(UsageError) as raised:
        make(text, CPUS, files)
    return str(raised.value)


def test_an_ambiguous_name_lists_its_candidates(files: Files) -> None:
    cut = "web --port 81 " + "x" * 25 + "…"
    assert _refusal("-p", "web", files) == (
        f"'web' names 2 processes: 20 (web --port 80); 21 ({cut}): use -p 20, or -p 20,21 for all"
    )


@pytest.mark.parametrize(
    ("option", "text", "line"),
    [
        ("-p", "99", "there is no process 99: see ps -e"),
        ("-p", "9" * 40, f"there is no process {'9' * 40}: see ps -e"),
        ("-p", "11", "11 is a thread of process 10: use -p 10, or -t 11"),
        ("-p", "io_thd_1", "there is no process named 'io_thd_1': see ps -e"),
        ("-t", "99", "there is no thread 99: see ps -eL"),
        ("-t", "\x1b[2J", "there is no thread named '\\x1b[2J': see ps -eL"),
        ("-p", "noisetop", "there is no process named 'noisetop': see ps -e"),
        ("-p", "10,,20", "-p takes numbers or names separated by commas: -p 1234,name"),
        (
            "-t",
            "31",
            "ksoftirqd/1 serves softirqs, which are noise themselves: watch its CPU with -c 1",
        ),
    ],
)
def test_what_there_is_none_of(option: str, text: str, line: str, files: Files) -> None:
    assert _refusal(option, text, files) == line


def test_a_process_that_has_ended_is_none(files: Files, tmp_path: Path) -> None:
    status = tmp_path / "proc/20/status"
    status.write_text(status.read_text().replace("S (sleeping)", "Z (zombie)"))
    assert _refusal("-p", "20", files) == "there is no process 20: see ps -e"
    assert process_target("web", CPUS, files, follow=False).pid == 21
