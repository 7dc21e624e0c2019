"""A program in tmux: keys go in, the screen comes out as text."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_NOT_OURS = ("COLUMNS", "LINES", "PYTHONDONTWRITEBYTECODE")


@dataclass(frozen=True, slots=True)
class Tmux:
    """One server with one window."""

    program: str
    socket: Path

    def command(self, *arguments: str) -> str:
        """What tmux answers."""
        done = subprocess.run(
            [self.program, "-f", "/dev/null", "-S", self.socket, *arguments],
            capture_output=True,
            text=True,
            check=True,
            env=_environment(),
        )
        return done.stdout

    def screen(self) -> str:
        """All lines of the window."""
        return self.command("capture-pane", "-p")

    def press(self, key: str) -> None:
        """A key by tmux's name of it: ``d``, ``Enter``, ``Escape``."""
        self.command("send-keys", key)

    @property
    def pid(self) -> int:
        """Of the program in the window."""
        return int(self.command("display-message", "-p", "#{pane_pid}"))


def _environment() -> dict[str, str]:
    """Without the size of another terminal, which a program would believe, and with modules that
    stay compiled, as they are for who uses it."""
    return {name: one for name, one in os.environ.items() if name not in _NOT_OURS}


@contextmanager
def in_tmux(
    folder: Path, argv: Sequence[str | Path], size: tuple[int, int] = (120, 40)
) -> Iterator[Tmux]:
    """A program in a window of its own server, which ends with it."""
    program = shutil.which("tmux")
    assert program, "tmux is missing: make test installs it"
    tmux = Tmux(program, folder / "tmux")
    width, height = size
    line = f"exec {shlex.join(map(str, argv))}"
    tmux.command("new-session", "-d", "-x", str(width), "-y", str(height), line)
    try:
        yield tmux
    finally:
        end = [program, "-S", tmux.socket, "kill-server"]
        subprocess.run(end, check=False, capture_output=True)


def unfolded(screen: str) -> str:
    """The text in one line: words and commands that were broken at the edge are whole again."""
    return re.sub(r"\s+", " ", re.sub(r"\\\s*\n", " ", screen))
