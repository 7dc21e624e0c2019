"""Every command with a stdout that is full, closed, gone or of another encoding."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gaps.results import spin_result, write_result
from tests.in_process import PROGRAM, run_in_process

DATA = Path(__file__).parents[1] / "data"
QUIET, UNLOADED = str(DATA / "quiet.noisetop"), str(DATA / "unloaded.noisetop")
LONG = "a" * 300
COMMANDS = (
    ("--help",),
    ("--version",),
    ("top", "--help"),
    ("probe", "spin", "--help"),
    ("report", UNLOADED),
    ("report", UNLOADED, "--json"),
    ("report", "RESULT"),
    ("report", "RESULT", "--json"),
    ("compare", QUIET, QUIET),
    ("compare", QUIET, QUIET, "--json"),
    ("diagnose", UNLOADED),
    ("diagnose", UNLOADED, "--json"),
    ("check", "-d", "50ms"),
    ("check", "-d", "50ms", "--json"),
    ("completion", "bash"),
    ("probe", "spin", "-c", "0", "-d", "50ms", "--no-trace"),
)


def shell(
    redirection: str, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Runs noisetop as a shell does, with a redirection behind it."""
    return subprocess.run(
        ["sh", "-c", f'"$@" {redirection}', "sh", str(PROGRAM), *arguments],
        capture_output=True,
        text=True,
        errors="surrogateescape",
        timeout=60,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("results") / "spin.json"
    write_result(spin_result(), path)
    return str(path)


@pytest.fixture(params=COMMANDS, ids=" ".join)
def command(request: pytest.FixtureRequest, result: str) -> list[str]:
    return [result if word == "RESULT" else word for word in request.param]


FULL = (">/dev/full", "/dev/full", "No space left on device")
CLOSED = (">&-", None, "Bad file descriptor")


def check_refused(done: subprocess.CompletedProcess[str], reason: str) -> None:
    *_, last = done.stderr.splitlines()
    assert last == f"noisetop: cannot write to stdout: {reason}: write to another place"
    assert "Traceback" not in done.stderr
    assert done.returncode == 1


@pytest.mark.parametrize(("redirection", "target", "reason"), [FULL, CLOSED])
def test_a_stdout_that_takes_nothing_is_one_line(
    command: list[str], redirection: str, target: str | None, reason: str
) -> None:
    check_refused(run_in_process(*command, stdout=target), reason)


def test_a_reader_that_is_gone_is_no_error(command: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = run_in_process(*command, stdout=writer)
    os.close(writer)
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
    assert "Broken pipe" not in done.stderr


def test_any_encoding_will_do(command: list[str]) -> None:
    done = run_in_process(*command, encoding="ascii")
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()


@pytest.mark.parametrize(
    ("arguments", "stdout"),
    [
        (("report", UNLOADED, "--json"), FULL),
        (("top", "--help"), CLOSED),
        pytest.param(("report", UNLOADED, "--json"), CLOSED, marks=pytest.mark.thorough),
        pytest.param(("top", "--help"), FULL, marks=pytest.mark.thorough),
    ],
)
def test_a_process_ends_as_well_when_stdout_takes_nothing(
    arguments: tuple[str, ...], stdout: tuple[str, str | None, str]
) -> None:
    redirection, _, reason = stdout
    check_refused(shell(redirection, *arguments), reason)


def test_a_process_ends_as_well_when_its_reader_is_gone() -> None:
    assert shell("| true", "report", UNLOADED, "--json").stderr == ""


def test_a_process_takes_the_encoding_from_its_environment() -> None:
    done = shell("", "report", UNLOADED, PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
    assert "\\u" in done.stdout


@pytest.mark.parametrize(
    ("redirection", "streams"),
    [
        ("2>&-", {"stderr": None}),
        ("2>/dev/full", {"stderr": "/dev/full"}),
        ("<&-", {"stdin": None}),
    ],
)
def test_messages_that_nobody_can_read_end_nothing(
    redirection: str, streams: dict[str, str | None]
) -> None:
    done = run_in_process("report", UNLOADED, "--json", **streams)
    assert (done.returncode, done.stdout[:1]) == (0, "{")
    assert shell(redirection, "report", "/does/not/exist").returncode == 1


def test_warnings_of_libraries_are_not_for_users() -> None:
    program = (
        "import sys, warnings, noisetop.commands.completion as one; from noisetop.cli import main; "
        "one.run = lambda args: warnings.warn('overflow') or 0; "
        "sys.argv = ['', 'completion', 'zsh']"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"{program}; main()"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_file_does_not_get_the_number_of_a_closed_stream(tmp_path: Path) -> None:
    out = tmp_path / "x.folded"
    done = shell("<&- >&- 2>&-", "export", UNLOADED, "-o", str(out))
    assert done.returncode == 0
    assert out.read_bytes()


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", LONG),
        ("export", UNLOADED, "-o", LONG),
        ("export", UNLOADED, "-o", f"{LONG}.json"),
        ("record", "-o", LONG),
        ("record", "--cgroup", LONG),
        ("diagnose", UNLOADED, "--save", LONG),
    ],
    ids=lambda words: " ".join(words).replace(LONG, "LONG"),
)
def test_a_name_that_is_too_long_is_one_line(arguments: tuple[str, ...]) -> None:
    done = run_in_process(*arguments)
    assert done.returncode in (1, 2)
    [line] = done.stderr.splitlines()
    assert LONG in line
    assert "File name too long" in line
