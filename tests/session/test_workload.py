"""The command after ``--``, without a tracer."""

from __future__ import annotations

from pathlib import Path

import pytest

from noisetop.errors import NoisetopError
from noisetop.session.workload import Workload


def started(*argv: str) -> Workload:
    command = Workload.prepare(list(argv))
    try:
        command.release()
    finally:
        command.close()
    return command


def test_its_status_is_that_of_a_shell() -> None:
    assert started("sh", "-c", "exit 7").wait() == 7
    assert started("sh", "-c", "kill -9 $$").wait() == 137


@pytest.mark.parametrize(("name", "status"), [("nothere", 127), ("plain", 126), (".", 126)])
def test_a_command_that_cannot_be_run_has_the_status_of_a_shell(
    tmp_path: Path, name: str, status: int
) -> None:
    (tmp_path / "plain").touch()
    with pytest.raises(NoisetopError, match=f"^cannot run {tmp_path / name}: ") as error:
        started(str(tmp_path / name))
    assert error.value.exit_code == status


def test_whether_it_ends_within_a_time() -> None:
    command = started("sleep", "60")
    assert not command.ends_within(0)
    command.terminate()
    assert command.ends_within(30)
    assert command.wait() == 143
    assert command.ends_within(0)
