"""Temporary folders, and what is left of them."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from noisetop.session.temporary import temporary_folder

ENDED = """
import signal, sys
from noisetop.session.temporary import temporary_folder
with temporary_folder() as folder:
    (folder / "live").write_text("some")
    signal.raise_signal(int(sys.argv[1]))
    print("goes on")
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_that_ends_the_process_leaves_no_folder(
    number: signal.Signals, tmp_path: Path
) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", ENDED, str(int(number))],
        env={"TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (-number, "")
    assert list(tmp_path.iterdir()) == []


def test_signals_mean_afterwards_what_they_meant_before() -> None:
    before = [signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGHUP)]
    with temporary_folder() as folder:
        assert folder.is_dir()
    assert not folder.exists()
    assert [signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGHUP)] == before


def test_a_signal_that_is_ignored_stays_so(tmp_path: Path) -> None:
    code = f"import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n{ENDED}"
    done = subprocess.run(
        [sys.executable, "-c", code, str(int(signal.SIGHUP))],
        env={"TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "goes on\n"
    assert list(tmp_path.iterdir()) == []
