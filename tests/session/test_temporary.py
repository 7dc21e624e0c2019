"""Temporary folders, and what a signal that ends the program leaves of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from noisetop.session.temporary import temporary_folder

ENDED = """
import signal, sys
from noisetop import cli
from noisetop.session.temporary import temporary_folder

class Command:
    @staticmethod
    def run(argv):
        with temporary_folder() as folder:
            (folder / "live").write_text("some")
            signal.raise_signal(int(argv[0]))
            print("goes on")
        return 0

cli.parse = lambda argv: ("command", argv)
cli.load_command = lambda name: Command
cli.main()
"""


def ended_by(
    number: signal.Signals, folder: Path, before: str = ""
) -> subprocess.CompletedProcess[str]:
    """The program, where that signal comes while it has a temporary folder in this one."""
    return subprocess.run(
        [sys.executable, "-c", before + ENDED, str(int(number))],
        env={**os.environ, "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, -15), (signal.SIGHUP, -1), (signal.SIGINT, 130)]
)
def test_a_signal_that_ends_the_program_leaves_no_folder(
    number: signal.Signals, status: int, tmp_path: Path
) -> None:
    ended = ended_by(number, tmp_path)
    assert (ended.returncode, ended.stdout, ended.stderr) == (status, "", "")
    assert list(tmp_path.iterdir()) == []


def test_a_signal_that_is_ignored_stays_so(tmp_path: Path) -> None:
    ignored = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    done = ended_by(signal.SIGHUP, tmp_path, ignored)
    assert (done.returncode, done.stdout) == (0, "goes on\n")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_goes_with_its_block() -> None:
    with temporary_folder() as folder:
        assert folder.is_dir()
    assert not folder.exists()
