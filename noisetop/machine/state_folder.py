"""Where the program keeps what it has learned about the machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

SYSTEM_FOLDER = Path("/var/lib/noisetop")


def state_folder(environment: Mapping[str, str] = os.environ, user: int | None = None) -> Path:
    """The folder of a user (default: who runs the program); perhaps there is none yet.

    The XDG base directory specification has relative paths ignored.
    """
    named = Path(environment.get("XDG_STATE_HOME", ""))
    if named.is_absolute():
        return named / "noisetop"
    if not (os.geteuid() if user is None else user):
        return SYSTEM_FOLDER
    home = Path(environment.get("HOME") or "~").expanduser()
    return home / ".local/state/noisetop"
