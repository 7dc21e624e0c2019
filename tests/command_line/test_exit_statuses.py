"""The program returns what its table of exit statuses says."""

from __future__ import annotations

import sys

import pytest

from noisetop import cli
from noisetop.errors import NoisetopError, UsageError
from noisetop.session.workload import Workload


def status_of(monkeypatch: pytest.MonkeyPatch, result: int | BaseException) -> object:
    """The exit status of the program when a command returns or raises this."""

    def run(argv: list[str]) -> int:
        if isinstance(result, int):
            return result
        raise result

    monkeypatch.setattr(cli, "run", run)
    monkeypatch.setattr(sys, "argv", ["noisetop"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return ended.value.code


@pytest.mark.parametrize(
    ("result", "status"),
    [
        (0, 0),
        (7, 7),
        (NoisetopError("failed"), 1),
        (UsageError("wrong"), 2),
        (KeyboardInterrupt(), 130),
    ],
)
def test_status(
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    result: int | BaseException,
    status: int,
) -> None:
    assert status_of(monkeypatch, result) == status
    told = capfd.readouterr().err
    assert told == (f"noisetop: {result}\n" if isinstance(result, NoisetopError) else "")


@pytest.mark.parametrize(("command", "status"), [("exit 7", 7), ("kill -TERM $$", 128 + 15)])
def test_status_of_a_command_is_that_of_a_shell(command: str, status: int) -> None:
    workload = Workload.prepare(["sh", "-c", command])
    try:
        workload.release()
        assert workload.wait() == status
    finally:
        workload.close()
