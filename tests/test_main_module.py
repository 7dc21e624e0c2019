"""The first moments of the program: what it imports, and what Ctrl-C does meanwhile."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

QUIET = Path(__file__).parent / "data/quiet.noisetop"


@pytest.mark.parametrize("arguments", [("--version",), ("report", str(QUIET)), ("check", "--help")])
def test_nothing_is_imported_from_the_current_folder(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    for name in ("numpy", "zlib", "argparse", "difflib", "json", "rich", "textual"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported from here')")
    done = subprocess.run(
        [sys.executable, "-m", "noisetop", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


INTERRUPTED = """
import signal, sys

MODULE = sys.argv[1]

class Interrupting:
    @staticmethod
    def find_spec(name, path, target=None):
        if name == MODULE:
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupting)
sys.argv = ["noisetop", "report", "nothing.noisetop"]
from noisetop.__main__ import main
main()
"""


@pytest.mark.parametrize("module", ["noisetop.cli", "argparse", "noisetop.commands.report"])
def test_ctrl_c_while_modules_are_imported_leaves_no_traceback(module: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, module], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (-signal.SIGINT, "")
