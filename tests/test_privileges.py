from __future__ import annotations

import errno
import sys
from pathlib import Path

import pytest

from noisetop.errors import NoisetopError
from noisetop.privileges import check_privileges, explain, may_trace, sudo_command


def machine(root: Path, capabilities: int) -> Path:
    status = root / "proc/self/status"
    status.parent.mkdir(parents=True)
    status.write_text(f"Name:\tpython\nCapEff:\t{capabilities:016x}\n")
    return root


PERFMON, BPF, ADMIN = 1 << 38, 1 << 39, 1 << 21


@pytest.mark.parametrize(
    ("capabilities", "may"),
    [(0, False), (BPF, False), (PERFMON, False), (BPF | PERFMON, True), (ADMIN, True)],
)
def test_what_it_takes_to_trace(tmp_path: Path, capabilities: int, may: bool) -> None:
    assert may_trace(machine(tmp_path, capabilities)) is may


def test_without_capabilities_the_error_names_them_and_sudo(tmp_path: Path) -> None:
    with pytest.raises(NoisetopError, match="CAP_BPF and CAP_PERFMON: sudo "):
        check_privileges(machine(tmp_path, 0))


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (errno.EPERM, "no permission to load BPF programs: sudo"),
        (errno.ENOMEM, "not enough memory for the rings"),
        (errno.EINVAL, r"cannot load the BPF programs: Invalid argument \(prog 'x': bad\)"),
    ],
)
def test_failed_steps_say_what_to_do(code: int, words: str) -> None:
    assert explain(code, "load", "prog 'x': bad").exit_code == 1
    with pytest.raises(NoisetopError, match=words):
        raise explain(code, "load", "prog 'x': bad")


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["/opt/bin/noisetop", "-c", "2,3"], "sudo /opt/bin/noisetop -c 2,3"),
        (
            ["/opt/lib/noisetop/__main__.py", "record", "-o", "a b"],
            f"sudo {sys.executable} -m noisetop record -o 'a b'",
        ),
    ],
)
def test_the_command_with_sudo_can_be_typed(
    monkeypatch: pytest.MonkeyPatch, argv: list[str], told: str
) -> None:
    monkeypatch.setattr(sys, "argv", argv)
    assert sudo_command() == told
