"""A recording of the flight recorder, on the terminal of the dashboard while that is away."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from textual.message import Message

_POLL_S = 0.2
_PATIENCE_S = 5


class Told(Message):
    """A line for the user."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


def show_file(path: Path, leaving: Callable[[], bool]) -> None:
    """``noisetop view`` in a process of its own, until the user closes it or the dashboard has to
    leave. What it prints stays for a moment only: the dashboard comes back."""
    viewer = subprocess.Popen([sys.executable, "-m", "noisetop", "view", str(path)])
    while viewer.poll() is None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            viewer.wait(_POLL_S)
        if leaving() and viewer.poll() is None:
            viewer.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                viewer.wait(_PATIENCE_S)
            viewer.kill()
