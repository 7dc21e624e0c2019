"""What torture looks for is found when it is there."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from noisetop import cli
from tests.torture import sessions
from tests.torture.sessions import Run, unreadable
from tests.torture.survivor import growing


def ended(folder: Path, script: str, number: signal.Signals = signal.SIGINT) -> Run:
    """A run of something else, that was waited for."""
    run = Run(folder, [], number, 0)
    for name in ("out", "tmp"):
        (folder / name).mkdir()
    with (folder / "stderr").open("wb") as stderr:
        run.process = subprocess.Popen(
            [sys.executable, "-c", script], cwd=folder, stderr=stderr, start_new_session=True
        )
    run.process.wait()
    return run


def test_a_run_that_is_well_has_no_problems(tmp_path: Path) -> None:
    assert ended(tmp_path, "").problems() == []


def test_a_traceback_is_a_problem(tmp_path: Path) -> None:
    (problem,) = ended(tmp_path, "1 / 0").problems()
    assert "ZeroDivisionError" in problem


@pytest.mark.parametrize(("where", "is_ours"), [("/bin/noisetop", False), (cli.__file__, True)])
def test_ctrl_c_before_the_program_began_is_none(where: str, is_ours: bool, tmp_path: Path) -> None:
    run = ended(tmp_path, "")
    said = f'Traceback (most recent call last):\n  File "{where}", line 3\nKeyboardInterrupt\n'
    (tmp_path / "stderr").write_text(said)
    assert bool(run.problems()) == is_ours


def test_temporary_files_that_are_left_are_a_problem_unless_it_was_killed(tmp_path: Path) -> None:
    for number, count in ((signal.SIGTERM, 1), (signal.SIGKILL, 0)):
        folder = tmp_path / number.name
        folder.mkdir()
        assert len(ended(folder, "open('tmp/x', 'w')", number).problems()) == count


def test_a_hang_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "_PATIENCE_S", 0.2)
    script = "import signal; signal.signal(2, signal.SIG_IGN); print(flush=True); signal.pause()"
    run = Run(tmp_path, [], signal.SIGINT, 0)
    run.process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, start_new_session=True
    )
    assert run.process.stdout
    run.process.stdout.readline()
    (problem,) = run.end()
    assert problem.startswith(f"it did not end in 0.2 s: thread {run.process.pid} in state S: ")
    assert run.process.returncode == -signal.SIGKILL
    run.process.stdout.close()


def test_a_damaged_recording_is_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "run.noisetop"
    path.write_bytes(b"noisetop, but no recording")
    assert "cannot be read" in unreadable(path)


def test_growth_is_told() -> None:
    assert not growing("memory", [100, 150, *[160] * 20, 165])
    assert growing("memory", [100 + 2 * one for one in range(60)])
    assert growing("memory", [100]), "too few measurements"


def test_every_command_and_signal_comes_up() -> None:
    chance = random.Random(1)
    runs = [Run.random(chance, Path("/x"), 1) for _ in range(500)]
    assert {run.signal for run in runs} == set(sessions.SIGNALS)
    assert {run.arguments[0] for run in runs} == {"record", "top", "diagnose", "probe"}
