"""``noisetop check`` on the machine that runs the tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from noisetop import cli
from noisetop.errors import UsageError
from noisetop.machine.spin import spin

_ALLOWED = sorted(os.sched_getaffinity(0))


def _run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    status = cli.run(["check", "-d", "50ms", *arguments])
    return status, capsys.readouterr().out


def test_verdict_comes_first(capsys: pytest.CaptureFixture[str]) -> None:
    status, text = _run(capsys)
    assert status == 0
    assert "\x1b" not in text
    counts = [int(part.split()[0]) for part in text.splitlines()[0].split(": ")[1].split(", ")]
    assert sum(counts) == 60
    _, details = _run(capsys, "-v")
    assert len(details.splitlines()) > len(text.splitlines())


def test_json_and_status_three(capsys: pytest.CaptureFixture[str]) -> None:
    status, text = _run(capsys, "--json", "--fail-on", "warn")
    counts = json.loads(text)["counts"]
    assert status == (3 if counts["fail"] + counts["warn"] else 0)
    status, text = _run(capsys, "--json", "--fail-on", "fail")
    assert status == (3 if json.loads(text)["counts"]["fail"] else 0)


def test_affinity_is_given_back(capsys: pytest.CaptureFixture[str]) -> None:
    _run(capsys, "-c", str(_ALLOWED[-1]))
    assert sorted(os.sched_getaffinity(0)) == _ALLOWED


def test_pid_names_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    _, text = _run(capsys, "--json", "-p", str(os.getpid()))
    by_id = {check["id"]: check for check in json.loads(text)["checks"]}
    assert by_id["C29"]["status"] != "skip"


def test_spin_measures(capsys: pytest.CaptureFixture[str]) -> None:
    _, text = _run(capsys, "--json", "--spin", "20ms")
    by_id = {check["id"]: check for check in json.loads(text)["checks"]}
    assert by_id["C52"]["read"][0]["path"].startswith("clock on CPU")


def test_spin_time_adds_up() -> None:
    seen = spin(_ALLOWED[0], 20_000_000)
    assert seen.duration_ns >= 20_000_000
    assert sum(seen.gaps_ns) <= seen.duration_ns
    assert len(seen.starts_ns) == len(seen.gaps_ns)
    assert spin(4095, 1_000_000).why


@pytest.mark.parametrize(
    "arguments",
    [["-c", "x"], ["-c", "4000"], ["-p", "999999999"], ["-d", "never"], ["--goal", "x"]],
)
def test_wrong_usage_is_one_line(arguments: list[str]) -> None:
    with pytest.raises(UsageError) as error:
        cli.run(["check", *arguments])
    assert "\n" not in str(error.value)


@pytest.mark.skipif(os.geteuid() != 0, reason="is itself without privileges already")
def test_runs_without_privileges() -> None:
    # Whoever is nobody may not be able to read the packages.
    load = "import locale, os, sys, noisetop.commands.check; from noisetop.cli import main"
    load += "; from noisetop.checks import all_checks; all_checks()"
    code = "sys.argv = ['noisetop', 'check', '-d', '20ms']; main()"
    run = subprocess.run(
        [
            sys.executable,
            "-c",
            f"{load}; os.setgroups([]); os.setgid(65534); os.setuid(65534); {code}",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.splitlines()[0].endswith("pass")
