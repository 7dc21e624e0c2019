"""The completion scripts, asked as the shells ask them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from noisetop import cli
from noisetop.command_line.completion import SHELLS
from noisetop.commands import command_names

# What readline does on Tab: the words, the one under the cursor, the one before.
_ASK_BASH = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
_shtab_noisetop noisetop "${!#}" "${@:$#-1:1}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


def script(capsys: pytest.CaptureFixture[str], shell: str, path: Path) -> Path:
    assert cli.run(["completion", shell]) == 0
    path.write_text(capsys.readouterr().out)
    return path


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("re",), {"record", "report"}),
        (("report", ""), {"one.noisetop", "two.noisetop"}),
        (("report", "--t"), {"--to", "--top"}),
        (("record", "-o", "t"), {"two.noisetop"}),
        (("compare", "one.noisetop", "t"), {"two.noisetop"}),
        (("check", "--goal", "r"), {"realtime"}),
        (("probe", "s"), {"spin", "switch"}),
        (("--dur",), {"--duration"}),
        (("completion", ""), set(SHELLS)),
    ],
)
def test_bash_offers(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    words: tuple[str, ...],
    offered: set[str],
) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is missing")
    folder = tmp_path / "work"
    folder.mkdir()
    for name in ("one.noisetop", "two.noisetop"):
        (folder / name).touch()
    path = script(capsys, "bash", tmp_path / "noisetop")
    done = subprocess.run(
        [bash, "--norc", "-c", _ASK_BASH, "bash", path, "noisetop", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(done.stdout.split()) == offered
    assert done.stderr == ""


@pytest.mark.parametrize("shell", SHELLS)
def test_script_names_every_command_and_parses(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, shell: str
) -> None:
    path = script(capsys, shell, tmp_path / "script")
    for name in command_names():
        assert name in path.read_text()
    program = shutil.which(shell)
    if program is not None:
        subprocess.run([program, "-n", path], check=True)
