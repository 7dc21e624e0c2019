from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from noisetop.errors import NoisetopError
from noisetop.flight_recorder.actions import Action, User, parse_action
from noisetop.flight_recorder.command_runner import CommandRunner

ME = User(os.getuid(), os.getgid(), tuple(os.getgroups()), dict(os.environ))


def shell(command: str) -> Action:
    return parse_action(f"shell,command={command}")


def test_it_runs_what_it_was_given_with_what_it_is_told(tmp_path: Path) -> None:
    first, second = shell(f'printf %s "$WHO" > {tmp_path}/1'), shell(f"echo 2 > {tmp_path}/2")
    with CommandRunner((first, second), ME) as runner:
        runner.run(second, {})
        runner.run(first, {"WHO": "a'b\n$(x) é"})
    assert (tmp_path / "1").read_text() == "a'b\n$(x) é"
    assert (tmp_path / "2").read_text() == "2\n"


def test_a_command_that_fails_is_told_and_the_next_one_runs() -> None:
    bad, good = shell("exit 3"), shell("true")
    with CommandRunner((bad, good), ME) as runner:
        with pytest.raises(NoisetopError, match="'exit 3' ended with status 3"):
            runner.run(bad, {})
        runner.run(good, {})


def test_it_runs_no_other_command() -> None:
    with CommandRunner((shell("true"),), ME) as runner, pytest.raises(ValueError, match="not in"):
        runner.run(shell("false"), {})


def test_it_writes_where_this_process_writes_by_then(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A daemon has other files by then."""
    command = shell("echo out; echo err >&2")
    kept = os.dup(1)
    with CommandRunner((command,), ME) as runner:
        log = os.open(tmp_path / "log", os.O_WRONLY | os.O_CREAT)
        os.dup2(log, 1)
        try:
            runner.run(command, {})
        finally:
            os.dup2(kept, 1)
            os.close(kept)
            os.close(log)
    assert (tmp_path / "log").read_text() == "out\n"
    assert capfd.readouterr().err == "err\n"


def test_signals_of_the_terminal_do_not_end_it_and_reach_its_commands(tmp_path: Path) -> None:
    command = shell(f"trap 'echo got > {tmp_path}/got; exit 0' INT; kill -INT $PPID $$; exit 1")
    with CommandRunner((command,), ME) as runner:
        runner.run(command, {})
        runner.run(command, {})
    assert (tmp_path / "got").read_text() == "got\n"


def test_that_it_was_killed_is_told() -> None:
    command = shell("true")
    with CommandRunner((command,), ME) as runner:
        os.kill(runner._pid, signal.SIGKILL)
        os.waitid(os.P_PID, runner._pid, os.WEXITED | os.WNOWAIT)
        with pytest.raises(NoisetopError, match="cannot start a command"):
            runner.run(command, {})


def test_it_ends_at_once() -> None:
    before = time.monotonic()
    with CommandRunner((shell("true"),), ME) as runner:
        assert Path(f"/proc/{runner._pid}").exists()
    assert not Path(f"/proc/{runner._pid}").exists()
    assert time.monotonic() - before < 5
