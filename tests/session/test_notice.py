from __future__ import annotations

import pytest

from noisetop.session.notice import notice
from tests.in_process import run_in_process

HOSTILE = "\x1b]0;x\x07\x1b[2J\u202e"


def test_names_in_a_message_are_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    notice(f"recording PID 5 ({HOSTILE}\n) to x")
    assert capsys.readouterr().err == (
        "noisetop: recording PID 5 (\\x1b]0;x\\x07\\x1b[2J\\u202e\\x0a) to x\n"
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", HOSTILE),
        ("record", "--cgroup", HOSTILE),
        (HOSTILE,),
        ("record", "-o", HOSTILE * 99),
    ],
)
def test_names_in_an_error_are_harmless(arguments: tuple[str, ...]) -> None:
    done = run_in_process(*arguments)
    [line] = done.stderr.splitlines()
    assert line.isascii()
    assert line.isprintable()
    assert "\\x1b[2J" in line
