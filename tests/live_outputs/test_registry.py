"""What holds for every live output, also for one that is added later."""

from __future__ import annotations

import argparse
import fcntl
import os
import select
import struct
import subprocess
import sys
import termios
import time
from collections import Counter
from pathlib import Path

import pytest

from noisetop.live.output import Default, Settings
from noisetop.live_outputs import add_output_arguments, chosen_output, load_output, output_names

ROOT = Path(__file__).parents[2]
LIMIT_S = 30
SHOWN = b"36 disk"


def read(master: int, until: bytes | None = None) -> bytes:
    """What is written to the terminal until a text has come; None: until its last user is gone."""
    seen, end = b"", time.monotonic() + LIMIT_S
    while until is None or until not in seen:
        assert select.select([master], [], [], max(end - time.monotonic(), 0))[0], seen[-500:]
        try:
            seen += os.read(master, 65536)
        except OSError:  # how a pseudo-terminal says that the other end is closed
            assert until is None, seen[-500:]
            break
    return seen


@pytest.mark.parametrize("name", output_names())
def test_it_shows_the_feed_and_ends(name: str) -> None:
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.live_outputs.shown", name],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        cwd=ROOT,
        env={**os.environ, "TERM": "xterm-256color"},
    )
    os.close(slave)
    try:
        seen = read(master, SHOWN)
        os.write(master, b"q")  # an output that takes keys ends when the user wants it to
        seen += read(master)
        assert child.wait(LIMIT_S) == 0, seen[-500:]
        assert b"Traceback" not in seen
    finally:
        child.kill()
        child.wait()
        os.close(master)


def arguments(*words: str) -> argparse.Namespace:
    """As ``noisetop top`` parses them."""
    parser = argparse.ArgumentParser()
    add_output_arguments(parser)
    return parser.parse_args(words)


def test_each_kind_of_stdout_has_one_default() -> None:
    defaults = Counter(load_output(name).default for name in output_names())
    assert defaults[Default.TERMINAL] == defaults[Default.NO_TERMINAL] == 1


@pytest.mark.parametrize("name", output_names())
def test_it_can_be_asked_for(name: str) -> None:
    output = load_output(name)
    if not output.option:
        assert output.default is not Default.NEVER, "nothing leads to it"
        return
    assert output.option.help
    value = "x" if output.option.metavar else ""
    words = [output.option.flag, *([value] if value else [])]
    for terminal in (True, False):
        assert chosen_output(arguments(*words), terminal=terminal) == (output, Settings(value))


def test_without_an_option_the_terminal_decides() -> None:
    assert chosen_output(arguments(), terminal=True)[0] is load_output("dashboard")
    assert chosen_output(arguments(), terminal=False)[0] is load_output("plain")


def test_textual_is_imported_only_when_the_dashboard_runs() -> None:
    program = "import noisetop.live_outputs.dashboard, sys; sys.exit('textual' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
