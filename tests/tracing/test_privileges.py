from __future__ import annotations

import errno
import site
import sys
import sysconfig
from pathlib import Path

import pytest

import noisetop
from noisetop.errors import NoisetopError
from noisetop.tracing.privileges import (
    check_privileges,
    explain,
    hidden_names_notice,
    may_trace,
    sudo_command,
)


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
    ("restricted", "words"),
    [("0", "CAP_SYSLOG"), ("1", "CAP_SYSLOG"), ("2", "sysctl -w kernel.kptr_restrict=1")],
)
def test_where_names_are_hidden_one_line_says_what_to_type(
    tmp_path: Path, restricted: str, words: str
) -> None:
    setting = tmp_path / "proc/sys/kernel/kptr_restrict"
    setting.parent.mkdir(parents=True)
    setting.write_text(f"{restricted}\n")
    notice = hidden_names_notice(tmp_path)
    assert words in notice
    assert "\n" not in notice


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (errno.EPERM, "no permission to load BPF programs: sudo"),
        (errno.EMFILE, "too few open files: ulimit -n 65536$"),
        (errno.ENOMEM, "not enough memory for the rings"),
        (errno.EINVAL, r"cannot load the BPF programs: Invalid argument \(prog 'x': bad\)"),
    ],
)
def test_failed_steps_say_what_to_do(code: int, words: str) -> None:
    assert explain(code, "load", "prog 'x': bad").exit_code == 1
    with pytest.raises(NoisetopError, match=words):
        raise explain(code, "load", "prog 'x': bad")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """An installed program in a folder whose name has to be quoted."""
    path = tmp_path / "my tools" / "noisetop"
    path.parent.mkdir()
    path.touch(0o755)
    return path


def test_the_command_with_sudo_can_be_pasted(
    monkeypatch: pytest.MonkeyPatch, program: Path
) -> None:
    monkeypatch.setattr(sys, "argv", [str(program), "-c", "2,3", "-o", "a b", "--", "sh", "$x"])
    assert sudo_command() == f"sudo '{program}' -c 2,3 -o 'a b' -- sh '$x'"
    monkeypatch.chdir(program.parent)
    monkeypatch.setattr(sys, "argv", ["./noisetop"])
    assert sudo_command() == f"sudo '{program}'"


@pytest.mark.parametrize("called", ["/opt/lib/noisetop/__main__.py", "-c"])
def test_a_module_is_called_by_the_name_of_its_program(
    monkeypatch: pytest.MonkeyPatch, program: Path, called: str
) -> None:
    monkeypatch.setattr(sys, "argv", [called, "record"])
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(program.parent))
    assert sudo_command() == f"sudo '{program}' record"


def test_a_module_without_a_program_imports_nothing_from_the_current_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "argv", ["/opt/lib/noisetop/__main__.py", "record", "-o", "a b"])
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    assert sudo_command() == f"sudo {sys.executable} -P -m noisetop record -o 'a b'"


def test_root_is_told_where_a_user_installed_it(
    monkeypatch: pytest.MonkeyPatch, program: Path
) -> None:
    monkeypatch.setattr(sys, "argv", [str(program), "top"])
    folder = str(Path(noisetop.__path__[0]).parent)
    monkeypatch.setattr(site, "getusersitepackages", lambda: folder)
    assert sudo_command() == f"sudo env PYTHONPATH={folder} '{program}' top"
